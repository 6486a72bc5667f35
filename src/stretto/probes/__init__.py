"""Probes: what they read of the machine, of its devices and of servers becomes `resources.*`.

A probe may hang, raise and tell nonsense. `live` keeps what it last told well and says that it is stale.
"""
