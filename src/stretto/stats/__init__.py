"""Statistics on plain arrays: intervals by resampling. Knows nothing of runs."""
