"""What tests of a workflow need: a loop whose time is virtual."""

from stretto.testing.virtual import VirtualLoop, run_virtual

__all__ = ["VirtualLoop", "run_virtual"]
