"""SLA composition: what the promises of the steps come to for the whole, and what that leaves to each."""
