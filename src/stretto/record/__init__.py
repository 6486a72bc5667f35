"""The record of a run: pure models, and their codec to `stretto.run/1` JSON."""
