"""Stretto runs an LLM-agent workflow in production and trains it from its own runs."""
