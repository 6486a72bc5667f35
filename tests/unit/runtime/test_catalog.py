"""Components are found by name, by version and as part of what they belong to."""

import pytest

import stretto
from stretto.components.python.decorator import component_of
from stretto.runtime.catalog import ComponentCatalog
from stretto.types.card import Card
from stretto.types.enums import RunStatus, Scope
from stretto.types.ids import digest_of
from stretto.types.messages import Request, Response
from stretto.types.protocols import Component
from tests.unit.runtime.conftest import Write


def component(name: str, version: str = "1.0.0") -> Component:
    @stretto.component(name, version, effects="pure")
    async def nothing() -> None:
        """Answers nothing."""

    found = component_of(nothing)
    assert found is not None
    return found


def catalog(*components: Component) -> ComponentCatalog:
    return ComponentCatalog({each.card.name: each for each in components})


@pytest.mark.parametrize(
    ("reference", "is_found"),
    [
        ("planner", True),
        ("planner@2.1.0", True),
        ("planner@2.1", False),
        ("planner@2.1.1", False),
        ("plan", False),
        ("Planner", False),
        ("", False),
        ("@2.1.0", False),
        ("planner/tool", False),
    ],
)
def test_a_reference_is_a_name_and_perhaps_the_version_that_must_be_there(reference: str, is_found: bool) -> None:
    planner = component("planner", "2.1.0")
    assert (catalog(planner, component("other")).find(reference) is planner) is is_found


class Bag:
    """A component that is false as long as it is empty."""

    card = Card(name="bag", version="1.0.0", kind="python", digest=digest_of(b"bag"))

    def __len__(self) -> int:
        return 0

    async def __call__(self, request: Request) -> Response:
        return Response(output=request.input)


def test_a_component_is_found_whatever_it_holds() -> None:
    bag = Bag()
    assert ComponentCatalog({"bag": bag}).find("bag") is bag


@pytest.mark.parametrize(
    ("reference", "is_found"),
    [("shop/get_order", True), ("shop/no_such", False), ("mall/get_order", False), ("shop/", False)],
)
def test_a_tool_is_found_behind_the_server_that_has_it(reference: str, is_found: bool) -> None:
    shop = stretto.McpServer("shop", command=["shop-server"], tools=["get_order"])
    assert (catalog(shop).find(reference) is not None) is is_found


def test_the_version_of_a_tool_is_its_servers() -> None:
    shop = stretto.McpServer("shop", command=["shop-server"], tools=["get_order"], version="3.0.0")
    assert catalog(shop).find("shop/get_order@3.0.0") is not None
    assert catalog(shop).find("shop/get_order@2.0.0") is None


def test_names_come_sorted() -> None:
    assert list(catalog(component("b"), component("c"), component("a")).names()) == ["a", "b", "c"]


def test_a_replaced_component_stands_for_its_namesake_in_the_new_catalog_only() -> None:
    old, new, other = component("a"), component("a", "2.0.0"), component("b")
    before = catalog(old, other)
    after = before.replaced(new)
    assert (before.find("a"), after.find("a"), after.find("b")) == (old, new, other)


def test_what_a_catalog_has_itself_comes_before_what_lies_around_it() -> None:
    own, outer, further = component("a"), component("a", "2.0.0"), component("b")
    both = catalog(own).over(catalog(outer, further))
    assert (both.find("a"), both.find("b")) == (own, further)
    assert list(both) != []


def test_what_was_put_into_a_catalog_stands_for_its_namesakes_in_those_over_it() -> None:
    own, put = component("a"), component("a", "2.0.0")
    outer = catalog(component("b")).replaced(put)
    for around in (outer, outer.per_run(), outer.replaced(component("b", "2.0.0")), catalog().over(outer)):
        assert catalog(own).over(around).find("a") is put
    assert catalog(own).over(catalog(put)).find("a") is own


def test_what_keeps_something_between_runs_can_be_had_by_run_also_in_catalogs_over_it() -> None:
    kept, planner = stretto.RecencyMemory("kept"), component("planner")
    by_run = catalog(kept, planner).per_run()
    assert by_run.find("planner") is planner
    replaced = by_run.replaced(stretto.RecencyMemory("kept", limit=3))
    inner = catalog(stretto.RecencyMemory("inner")).over(by_run)
    for each in (by_run.find("kept"), replaced.find("kept"), inner.find("inner"), inner.find("kept")):
        assert each is not None
        assert each.card.scope is Scope.RUN
    assert catalog(kept).over(catalog(planner)).find("kept") is kept


INNER = (
    "stretto: 1\nname: inner\ncomponents: inner.py\nsteps: [{name: own, component: own}]\noutput: {n: steps.own.n}\n"
)
OUTER = """
stretto: 1
name: outer
components: outer.py
steps:
  - {name: shared, component: shared}
  - {name: sub, workflow: inner.yaml, needs: [shared]}
"""
FUNCTION = (
    "import stretto\n\n@stretto.component(effects='pure', inline=True)\ndef {name}() -> dict:\n    return {{'n': 1}}\n"
)


async def test_what_wraps_components_wraps_those_of_workflows_inside_too(write: Write) -> None:
    outer = write(
        {
            "outer.yaml": OUTER,
            "inner.yaml": INNER,
            "outer.py": FUNCTION.format(name="shared"),
            "inner.py": FUNCTION.format(name="own"),
        }
    )
    asked: list[str] = []
    wrapped: dict[int, Component] = {}

    class Noting:
        def __init__(self, inner: Component) -> None:
            self.card = inner.card
            self._inner = inner

        async def __call__(self, request: Request) -> Response:
            asked.append(self.card.name)
            return await self._inner(request)

    def wrap(component: Component) -> Component:
        return wrapped.setdefault(id(component), Noting(component))

    async with stretto.load(outer, store=outer.parent / "runs.db") as plain:
        async with plain.wrapped(wrap) as noting:
            assert (await noting.run({})).status is RunStatus.OK
        assert asked == ["shared", "own"]
        assert noting.plan.manifest == plain.plan.manifest
        assert (await plain.run({})).status is RunStatus.OK
    assert asked == ["shared", "own"], "the workflow that it was made from is as it was"
