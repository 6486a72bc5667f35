"""Where runs, effects and annotations are kept: one SQLite file, one writer thread, any number of readers."""
