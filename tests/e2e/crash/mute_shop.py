"""The real shop, and nobody who could tell whether a write in doubt happened."""

from tests.e2e.crash.retail import retail

shop = retail()
