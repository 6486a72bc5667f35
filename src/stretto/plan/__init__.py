"""Compile: spec and catalog become one immutable Plan, or a list of problems that say what to mend."""
