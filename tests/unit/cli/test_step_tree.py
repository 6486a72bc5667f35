"""Step paths as a tree, whatever is missing of it."""

import pytest

from stretto.cli.step_tree import step_tree, walk
from stretto.record.model import StepRecord
from stretto.types.enums import StepStatus
from stretto.types.ids import StepPath


def record(path: str, started_ms: float = 0.0, ended_ms: float = 1.0) -> StepRecord:
    return StepRecord(path=StepPath(path), status=StepStatus.OK, started_ms=started_ms, ended_ms=ended_ms)


@pytest.mark.parametrize(
    ("paths", "tree"),
    [
        (["b", "a"], ["b", "a"]),
        (["talk[1]/a", "talk[2]/a", "talk"], ["talk", " 1 a", " 2 a"]),
        (["talk[2]/a", "talk[10]/a", "talk"], ["talk", " 2 a", " 10 a"]),
        (["each[0]", "each[1]", "each"], ["each", " 0 ", " 1 "]),
        (["sub/a", "sub/b", "sub"], ["sub", " a", " b"]),
        (["plan/tool#1", "plan"], ["plan", " tool#1"]),
        (["each[0]/tool#1", "each[0]", "each"], ["each", " 0 ", "  tool#1"]),
        (["a[1]/b[0]/c", "a[1]/b", "a"], ["a", " 1 b", "  0 c"]),
        (["a[0]/b[1]", "a[0]/b", "a"], ["a", " 0 b", "  1 "]),
        (["$memory", "planner"], ["$memory", "planner"]),
        (["talk[1]/a"], ["talk", " 1 a"]),
    ],
)
def test_every_step_stands_under_the_one_that_holds_it(paths: list[str], tree: list[str]) -> None:
    nodes = walk(step_tree(record(path, number) for number, path in enumerate(paths)))
    told = [f"{' ' * depth}{'' if n.index is None else f'{n.index} '}{n.name}" for n, depth in nodes]
    assert told == tree


def test_siblings_stand_in_the_order_in_which_they_began() -> None:
    late, early = record("late", 5.0), record("early", 1.0)
    assert [node.name for node in step_tree([late, early])] == ["early", "late"]


def test_a_loop_that_did_not_end_spans_what_happened_in_it() -> None:
    (talk,) = step_tree([record("talk[1]/a", 2.0, 4.0), record("talk[1]/b", 4.0, 9.0)])
    assert (talk.record, talk.started_ms, talk.ended_ms) == (None, 2.0, 9.0)
