"""What a person may declare about how calls to a component are protected; each of these is one rule of the engine.

Durations are seconds and rates are parts of one. `spec` refuses values outside the ranges given here, and rules
that contradict each other. The defaults fit the traffic of agents: tens of calls, each of seconds to minutes.
"""

from enum import StrEnum

import msgspec


class Jitter(StrEnum):
    """How the wait before a retry is drawn, so that those who failed together do not come back together."""

    FULL = "full"
    """Anything up to a bound that doubles with each failure: the least work for all, and sometimes no wait at all."""
    DECORRELATED = "decorrelated"
    """Between the shortest wait and three times the last: never less than the shortest."""


class QuotaRule(msgspec.Struct, frozen=True, kw_only=True):
    """How many retries the calls of a component may cause, so that they cannot storm."""

    ratio: float = 0.2
    """Retries per call, in [0, 1]. Default 0.2, as the retry budgets of Finagle and Envoy."""
    floor: int = 10
    """Retries that any window allows, however few the calls, 0 or more.

    Default 10: what Finagle allows a second, so that a few runs a minute have all that they declare.
    """
    window_s: float = 60.0
    """Seconds after which a call allows nothing more, in [1, 3600].

    Default 60.0, as long as some calls to a model; Finagle's 10 s forget a call before it has failed.
    """


class BreakerRule(msgspec.Struct, frozen=True, kw_only=True):
    """When calls to a component stop, and how it is tried again. Names and thresholds follow resilience4j."""

    failure_rate: float = 0.5
    """Part of the calls in the window that failed at which it opens, in (0, 1]. Default 0.5, as resilience4j."""
    slow_rate: float = 0.8
    """Part of the calls in the window that were slow at which it opens, in (0, 1].

    Default 0.8: resilience4j's 1.0 lets one quick answer, from a cache perhaps, hide a crawl.
    """
    slow_after_s: float | None = None
    """Seconds beyond which a call is slow, more than 0. Default None: no call is; only its owner knows what is slow."""
    window_s: float = 60.0
    """Seconds after which a call is forgotten, in [1, 3600]. Default 60.0: a fault of an hour ago says nothing now."""
    window_calls: int = 50
    """Calls after which a call is forgotten, in [1, 10000]. Default 50, half of resilience4j's, for fewer calls."""
    min_calls: int = 10
    """Calls that the window holds before it may open, in [1, window_calls].

    Default 10: resilience4j's 100 are more calls than an agent makes while the fault lasts.
    """
    open_s: float = 5.0
    """Seconds it stays open at first, in (0, max_open_s]; doubled by each probe that goes badly, until it closes.

    Default 5.0: short, since doubling makes it long where that is called for.
    """
    max_open_s: float = 120.0
    """Seconds it stays open at most, in [open_s, 3600]. Default 120.0, twice the fixed wait of resilience4j."""
    probes: int = 2
    """Calls that must go well before it closes, and that may be under way until then, in [1, 100].

    Default 2: one may be luck, and each of resilience4j's 10 is a run put at risk.
    """
    lease_s: float = 30.0
    """Seconds after which a probe that has not come back is given up, in [1, 3600].

    What it says later is ignored; the lease is never shorter than the step's time-out. Default 30.0; resilience4j waits
    for ever, and a call that is cancelled blocks it.
    """


class BulkheadRule(msgspec.Struct, frozen=True, kw_only=True):
    """How many calls of a component run at once, and how many wait for that."""

    limit: int | None = None
    """Calls at once, 1 or more. Default None: as many as its service time bears (Netflix's Gradient2)."""
    min_limit: int = 1
    """Calls at once that an adaptive limit never goes below, in [1, max_limit].

    Default 1, for a model server may bear no more; Netflix's 20 is for web services.
    """
    max_limit: int = 200
    """Calls at once that an adaptive limit never goes beyond, min_limit or more. Default 200, as Netflix's."""
    queue: int = 100
    """Calls that wait at most, 0 or more; the next is refused. Default 100, as resilience4j's thread pool."""


class HedgeRule(msgspec.Struct, frozen=True, kw_only=True):
    """When a call that takes long is made again beside itself. Only what reads, and within the quota of retries."""

    after_s: float | None = None
    """Seconds after which it is made again, more than 0. Default None: after the component's own p95, once known."""
    copies: int = 1
    """How many are made beside the first at most, in [1, 4].

    Default 1, which gains nearly all (Dean and Barroso, "The Tail at Scale", 2013); gRPC allows 4.
    """


class StreakRule(msgspec.Struct, frozen=True, kw_only=True):
    """After how many failures in a row a fallback answers without trying, and when what failed is tried again."""

    after: int = 3
    """Failures in a row from which it answers at once, in [1, 1000].

    Default 3: two may be one bad minute of a network, and every further one is a customer who waits for nothing.
    """
    retry_after_s: float = 60.0
    """Seconds until one call is let through to try again, in [0.1, 86400]; doubled by each that fails, to at most ten
    minutes or this, whichever is longer. Default 60.0: what restarts is back by then."""


class ExerciseRule(msgspec.Struct, frozen=True, kw_only=True):
    """How often, and by how much of the real traffic, a fallback is asked beside the real answer."""

    every_s: float = 2_592_000.0
    """Seconds from one exercise to the next, in [60, 31536000]. Default 2592000.0, a month of 30 days."""
    share: float = 0.01
    """Part of the runs that ask it while an exercise is due, in (0, 1]. Default 0.01."""
