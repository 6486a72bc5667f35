"""The vocabulary every layer shares: ids, enums, errors, budget, card, messages, protocols."""
