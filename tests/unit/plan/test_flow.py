"""Who writes which path, who waits for whom, in which order steps run."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from stretto.plan.flow import Writers, block_of, declared_order, may_write
from stretto.plan.model import FIRST_FREE_SLOT, AnyOp, Block, LoopOp, SubOp
from stretto.plan.names import Binding, Names
from stretto.spec.model import StepSpec
from stretto.spec.report import Report
from stretto.types.enums import Effect
from tests.unit.engine.plans import call, each, linear, plan
from tests.unit.plan.flows import component, found_in, located, steps_of

READER = component("look")
WRITER = component("pay", effects={"*": Effect.WRITE})
EITHER = component("shop", effects={"*": Effect.READ, "buy": Effect.WRITE})

Edges = frozenset[tuple[int, int]]
"""(before, after), as places in the file."""


def named(index: int, *needs: int) -> StepSpec:
    name = located(f"s{index}")
    return StepSpec(span=name.span, name=name, component=located("a"), needs=tuple(located(f"s{n}") for n in needs))


def ordered(count: int, reads: Edges, needs: Edges = frozenset(), writing: frozenset[int] = frozenset()) -> Block:
    """The block of `count` steps with these edges."""
    steps = [named(index, *sorted(a for a, b in needs if b == index)) for index in range(count)]
    ops = [
        call(
            WRITER if index in writing else READER,
            FIRST_FREE_SLOT + index,
            name=f"s{index}",
            reads=frozenset(FIRST_FREE_SLOT + a for a, b in reads if b == index),
        )
        for index in range(count)
    ]
    report = Report()
    block = block_of(steps, ops, report)
    assert found_in(report) == ()
    return block


def sequence(block: Block) -> list[int]:
    return [int(op.name[1:]) for op in block.ops]


def newest_first(block: Block) -> list[int]:
    """The steps as they end when of those that are ready the one that became so last goes first."""
    waiting, places = list(block.indegree), sequence(block)
    ended: list[int] = []
    ready = [place for place, count in enumerate(waiting) if not count]
    while ready:
        place = ready.pop()
        ended.append(places[place])
        for child in block.children[place]:
            waiting[child] -= 1
            if not waiting[child]:
                ready.append(child)
    return ended


@st.composite
def flows(draw: st.DrawFn) -> tuple[int, Edges]:
    """Any data flow without a cycle, in files that name its steps in any order."""
    rank = draw(st.integers(1, 9).flatmap(lambda count: st.permutations(range(count))))
    pairs = draw(st.sets(st.tuples(st.sampled_from(rank), st.sampled_from(rank))))
    return len(rank), frozenset((a, b) for a, b in pairs if rank.index(a) < rank.index(b))


class TestOrder:
    @given(flows())
    def test_every_step_follows_what_it_reads_and_what_it_needs(self, flow: tuple[int, Edges]) -> None:
        count, edges = flow
        reads = frozenset(edge for edge in edges if sum(edge) % 2)
        block = ordered(count, reads, edges - reads)
        place = {index: position for position, index in enumerate(sequence(block))}
        assert sorted(place) == list(range(count))
        assert all(place[before] < place[after] for before, after in edges)

    @given(flows())
    def test_a_step_is_ready_exactly_when_all_that_it_waits_for_has_ended(self, flow: tuple[int, Edges]) -> None:
        count, edges = flow
        ended = newest_first(ordered(count, edges))
        assert sorted(ended) == list(range(count))
        assert all(ended.index(before) < ended.index(after) for before, after in edges)

    @given(flows())
    def test_a_block_is_linear_when_each_step_waits_for_the_one_before(self, flow: tuple[int, Edges]) -> None:
        count, edges = flow
        block = ordered(count, edges)
        # a topological order is the only one when it is a path of the graph
        assert block.linear is all(pair in edges for pair in pairwise(sequence(block)))

    @given(flows(), st.sets(st.integers(0, 8)))
    def test_writes_come_in_the_order_of_the_file_where_the_data_allows_it(
        self, flow: tuple[int, Edges], writing: set[int]
    ) -> None:
        count, edges = flow
        forward = frozenset((a, b) for a, b in edges if a < b)
        ended = newest_first(ordered(count, forward, writing=frozenset(writing)))
        writes = [index for index in ended if index in writing]
        assert writes == sorted(writes)

    def test_reads_beside_writes_wait_for_nothing(self) -> None:
        block = ordered(3, frozenset(), writing=frozenset({0, 2}))
        assert (sequence(block), block.linear, block.indegree) == ([0, 1, 2], False, (0, 0, 1))

    def test_a_write_that_says_what_it_needs_waits_for_that_alone(self) -> None:
        block = ordered(3, frozenset(), frozenset({(0, 2)}), writing=frozenset({0, 1, 2}))
        assert (block.indegree, block.children) == ((0, 1, 1), ((1, 2), (), ()))

    def test_what_is_read_from_outside_the_block_orders_nothing(self) -> None:
        outside = call(READER, FIRST_FREE_SLOT, name="s0", reads=frozenset({0, 99}))
        block = block_of([named(0), named(1)], [outside, call(READER, FIRST_FREE_SLOT + 1, name="s1")], Report())
        assert block.indegree == (0, 0)

    @pytest.mark.parametrize(
        ("edges", "says"),
        [
            (frozenset({(0, 0)}), "step 's0' waits for its own output"),
            (frozenset({(0, 1), (1, 0)}), "these steps wait for each other: 's0' → 's1' → 's0'"),
        ],
    )
    def test_steps_that_wait_for_each_other_are_told_of(self, edges: Edges, says: str) -> None:
        report = Report()
        ops = [
            call(READER, FIRST_FREE_SLOT + n, reads=frozenset(FIRST_FREE_SLOT + a for a, b in edges if b == n))
            for n in range(2)
        ]
        block_of([named(0), named(1)], ops, report)
        (problem,) = found_in(report)
        assert (problem.code, problem.message) == ("plan.cycle", says)


class TestNeeds:
    @given(flows())
    def test_a_step_waits_for_all_that_leads_to_it(self, flow: tuple[int, Edges]) -> None:
        count, edges = flow
        steps = [named(index, *sorted(a for a, b in edges if b == index)) for index in range(count)]
        found = declared_order(steps, Report())
        reach = set(edges)
        for through in range(count):  # Warshall
            reach |= {(a, b) for a, x in reach if x == through for y, b in reach if y == through}
        assert {(a, b) for b in range(count) for a in range(count) if f"s{a}" in found[f"s{b}"]} == reach

    def test_a_circle_of_needs_ends(self) -> None:
        found = declared_order([named(0, 1), named(1, 0)], Report())
        assert found == {"s0": frozenset({"s0", "s1"}), "s1": frozenset({"s0", "s1"})}

    def test_a_step_that_is_not_beside_it_cannot_be_needed(self) -> None:
        report = Report()
        steps = steps_of(
            """
            - {name: first, component: a}
            - {name: second, component: a, needs: [frist]}
            """
        )
        assert declared_order(steps, report)["second"] == frozenset()
        (problem,) = found_in(report)
        assert (problem.code, problem.expected, problem.suggestion) == ("plan.unknown_step", "one of first", "first")


class TestWriters:
    def bind(
        self, *writes: tuple[str, str], needs: dict[str, set[str]] | None = None, merged: str = ""
    ) -> tuple[Names, list[str]]:
        """Bind what steps write: (step, path); their slots are in the order given."""
        report, names = Report(), Names()
        writers = Writers(report)
        for slot, (step, target) in enumerate(writes):
            writers.add(located(target), Binding(slot=slot, step=step))
        if merged:
            writers.merge(located(merged), "m")
        order = {step: frozenset((needs or {}).get(step, ())) for step, _ in writes}
        writers.bind(names, order)
        return names, [problem.message for problem in found_in(report)]

    def test_each_path_is_bound_to_its_writer(self) -> None:
        names, problems = self.bind(("a", "plan.steps"), ("b", "plan.cost"))
        assert problems == []
        assert names.lookup(("plan", "cost")).slots == {1}

    def test_two_writers_in_no_order_are_a_problem(self) -> None:
        _, problems = self.bind(("a", "total"), ("b", "total"))
        assert problems == ["steps 'a' and 'b' both write 'total' (the first at line 1), in no given order"]

    @pytest.mark.parametrize(
        ("needs", "latest_first"),
        [
            ({"b": {"a"}, "c": {"a", "b"}}, [2, 1, 0]),
            ({"b": {"a", "c"}, "c": {"a"}}, [1, 2, 0]),
        ],
    )
    def test_writers_in_an_order_are_asked_from_the_latest_on(
        self, needs: dict[str, set[str]], latest_first: list[int]
    ) -> None:
        names, problems = self.bind(("a", "total"), ("b", "total"), ("c", "total"), needs=needs)
        assert problems == []
        assert [binding.slot for binding in names.bindings(("total",))] == latest_first

    def test_an_order_of_some_of_the_writers_is_none(self) -> None:
        _, problems = self.bind(("a", "total"), ("b", "total"), ("c", "total"), needs={"b": {"a"}, "c": {"a"}})
        assert len(problems) == 1

    def test_a_path_that_a_merge_names_is_left_to_the_merge(self) -> None:
        names, problems = self.bind(("a", "total"), ("b", "total"), merged="total")
        assert problems == []
        assert "total" not in names.roots()

    @pytest.mark.parametrize("paths", [("plan", "plan.steps"), ("plan.steps", "plan")])
    def test_a_path_inside_another_that_is_written_is_a_problem(self, paths: tuple[str, str]) -> None:
        _, problems = self.bind(("a", paths[0]), ("b", paths[1]))
        assert len(problems) == 1
        assert "writes 'plan.steps', which is inside 'plan'" in problems[0]

    def test_a_path_that_only_begins_with_the_same_letters_is_another(self) -> None:
        assert self.bind(("a", "plan"), ("b", "plans"), ("c", "plans_b.c"))[1] == []


def holding(shape: str, op: AnyOp) -> AnyOp:
    if shape == "map":
        return each(op)
    if shape == "sub-workflow":
        return SubOp(name="sub", slot=0, plan=plan(linear(op)), inputs=())
    return LoopOp(
        name="loop", slot=0, body=linear(op), carries=(), round_slot=0, until=None, until_source="", max_rounds=1,
        results=(),
    )  # fmt: skip


@pytest.mark.parametrize(("op", "writes"), [(call(READER, 4), False), (call(WRITER, 4), True), (call(EITHER, 4), True)])
def test_a_step_may_write_when_an_action_of_its_component_or_a_step_inside_it_does(op: AnyOp, writes: bool) -> None:
    assert may_write(op) is writes
    for shape in ("map", "loop", "sub-workflow"):
        inner = holding(shape, replace(op, name="inner"))
        assert may_write(inner) is writes
        assert may_write(holding("map", inner)) is writes
