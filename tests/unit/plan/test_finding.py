"""What steps name is looked up, and told where it is named when it is not there."""

import pytest

from stretto.plan.finding import Finder
from stretto.plan.model import Plan
from stretto.spec.report import Report
from stretto.spec.source import Located
from tests.unit.engine.plans import linear, plan
from tests.unit.plan.flows import Shelf, component, found_in, located


class Finding:
    """A finder over these components, and what it reports; every sub-workflow but ``none.yaml`` is there."""

    def __init__(self, *names: str) -> None:
        self.report = Report()
        self.looked_for: list[str] = []
        self.finder = Finder(Shelf(component(name) for name in names), self.report, self._plan)

    def _plan(self, place: Located[str]) -> Plan | None:
        self.looked_for.append(place.value)
        return None if place.value == "none.yaml" else plan(linear())


class TestComponents:
    def test_one_that_is_there_is_found(self) -> None:
        finding = Finding("add", "say")
        found = finding.finder.component(located("say"))
        assert found is not None
        assert (found.card.name, found_in(finding.report)) == ("say", ())

    @pytest.mark.parametrize(
        ("name", "code", "expected", "suggestion"),
        [
            ("ad", "plan.unknown_component", "one of add, say", "add"),
            ("quite-different", "plan.unknown_component", "one of add, say", ""),
            ("add@2.0.0", "plan.version", "add@1.0.0", "add@1.0.0"),
            ("ad@1.0.0", "plan.unknown_component", "one of add, say", "add"),
        ],
    )
    def test_one_that_is_not_is_told_with_what_is(self, name: str, code: str, expected: str, suggestion: str) -> None:
        finding = Finding("add", "say")
        assert finding.finder.component(located(name)) is None
        (problem,) = found_in(finding.report)
        assert (problem.code, problem.expected, problem.suggestion) == (code, expected, suggestion)

    def test_that_there_are_none_at_all_is_told_once_with_how_to_write_one(self) -> None:
        finding = Finding()
        for name in ("llm-planner@2.0.0", "other"):
            assert finding.finder.component(located(name)) is None
        (problem,) = found_in(finding.report)
        assert "there is no component 'llm-planner', nor any other: w.yaml names no `components`" in problem.message
        assert problem.suggestion.startswith('@stretto.component("llm-planner") above def llm_planner(...)')


class TestSubWorkflows:
    def test_each_is_looked_for_once_and_kept_where_it_was_first_named(self) -> None:
        finding = Finding()
        first, second = located("sub.yaml"), located("sub.yaml")
        found = finding.finder.plan(first)
        assert finding.finder.plan(second) is found
        assert finding.looked_for == ["sub.yaml"]
        assert finding.finder.places["sub.yaml"] is first
        assert finding.finder.plans == {"sub.yaml": found}

    def test_one_that_is_not_there_is_in_no_plan(self) -> None:
        finding = Finding()
        assert finding.finder.plan(located("none.yaml")) is None
        assert (finding.finder.plans, finding.finder.places) == ({}, {})
