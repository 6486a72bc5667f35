"""Run a Plan: one run at a time, asynchronously, within its budget, every step recorded."""
