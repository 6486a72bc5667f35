"""Why a run went as it did: what made a choice, and what each field of an answer was worth."""
