"""The protocol, version 1: its schema, and what is generated from it (`make proto`)."""
