"""What is compared with what, and what is aimed at."""

from dataclasses import dataclass
from typing import Final

from benchmarks.measured import Series


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A ratio of two times per run. For a ratio of rates, the slower system stands above."""

    key: str
    above: Series
    below: Series
    blocks: int
    """How often each side has its turn."""
    at_most: float | None = None
    at_least: float | None = None
    """The aim, on one side; neither where the ratio is for orientation."""


LINEAR4: Final = Series(name="stretto_linear4", system="stretto", case="linear4", runs=400)
FANOUT8: Final = Series(name="stretto_fanout8", system="stretto", case="fanout8", runs=400)
STEP: Final = Series(name="stretto_step_sqlite", system="stretto", case="step", runs=400)
STEP_100: Final = Series(name="stretto_step_sqlite_100_at_once", system="stretto", case="step_concurrent", runs=1_000)

COMPARISONS: Final = (
    Comparison(
        key="linear4_vs_asyncio_timeout",
        above=LINEAR4,
        below=Series(name="asyncio_timeout", system="plain", case="timeout", runs=2_000),
        blocks=20,
        at_most=5,
    ),
    Comparison(
        key="linear4_vs_asyncio",
        above=LINEAR4,
        below=Series(name="asyncio", system="plain", case="bare", runs=2_000),
        blocks=6,
    ),
    Comparison(
        key="burr_vs_linear4",
        above=Series(name="burr", system="burr", case="linear4", runs=400),
        below=LINEAR4,
        blocks=10,
        at_least=3,
    ),
    Comparison(
        key="burr_reused_app_vs_linear4",
        above=Series(name="burr_reused_app", system="burr", case="reused_app", runs=400),
        below=LINEAR4,
        blocks=6,
    ),
    Comparison(
        key="pydantic_graph_vs_linear4",
        above=Series(name="pydantic_graph", system="pydantic_graph", case="linear4", runs=400),
        below=LINEAR4,
        blocks=6,
    ),
    Comparison(
        key="langgraph_vs_linear4",
        above=Series(name="langgraph", system="langgraph", case="linear4", runs=200),
        below=LINEAR4,
        blocks=10,
        at_least=20,
    ),
    Comparison(
        key="langgraph_sqlite_vs_step_sqlite",
        above=Series(name="langgraph_sqlite", system="langgraph", case="sqlite", runs=50),
        below=STEP,
        blocks=10,
        at_least=40,
    ),
    Comparison(
        key="langgraph_sqlite_normal_vs_step_sqlite",
        above=Series(name="langgraph_sqlite_normal", system="langgraph", case="sqlite_normal", runs=50),
        below=STEP,
        blocks=10,
    ),
    Comparison(
        key="step_sqlite_vs_dbos_throughput",
        above=Series(name="dbos_100_at_once", system="dbos", case="sqlite", runs=100),
        below=STEP_100,
        blocks=3,
        at_least=100,
    ),
    Comparison(
        key="step_sqlite_vs_dbos_normal_throughput",
        above=Series(name="dbos_normal_100_at_once", system="dbos", case="sqlite_normal", runs=100),
        below=STEP_100,
        blocks=5,
    ),
    Comparison(
        key="fanout8_vs_taskgroup",
        above=FANOUT8,
        below=Series(name="taskgroup8", system="plain", case="taskgroup8", runs=1_000),
        blocks=10,
        at_most=5,
    ),
    Comparison(
        key="fanout8_vs_taskgroup_timeout",
        above=FANOUT8,
        below=Series(name="taskgroup8_timeout", system="plain", case="taskgroup8_timeout", runs=1_000),
        blocks=6,
    ),
    Comparison(
        key="concurrent1000_vs_burr",
        above=Series(name="burr_1000_at_once", system="burr", case="concurrent", runs=1_000),
        below=Series(name="stretto_1000_at_once", system="stretto", case="concurrent", runs=1_000),
        blocks=8,
        at_least=3,
    ),
)
