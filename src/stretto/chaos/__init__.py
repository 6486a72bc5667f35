"""Faults injected into a workflow's components, and what becomes of its runs."""
