"""The files people write: workflow and contract, read into frozen models that remember where everything stands."""
