"""The registry that a workflow's components are found in."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol, TypeAlias, runtime_checkable

from stretto.types.errors import ComponentError
from stretto.types.protocols import Component, KeepsBetweenRuns

Wrap: TypeAlias = Callable[[Component], Component]
"""Puts something between the engine and a component; the same for the same component each time."""


@runtime_checkable
class HasTools(Protocol):
    """A component that is made of others: a server with tools."""

    def tool(self, name: str) -> Component:
        """The component of one tool; asking a tool that the server does not have fails when it is called."""
        ...


class ComponentCatalog:
    """Components by name. A reference may carry a version, ``name@1.2.0``, which must then be the one found.

    With `per_run` those that keep something between runs begin empty in every run.
    """

    def __init__(
        self,
        components: Mapping[str, Component],
        *,
        per_run: bool = False,
        made: Mapping[str, Component] | None = None,
        put: frozenset[str] = frozenset(),
        wrap: Wrap | None = None,
    ) -> None:
        self._components = {name: _per_run(each) for name, each in components.items()} if per_run else dict(components)
        self.made = dict(components if made is None else made)
        """What each was before it was replaced, or made to begin empty."""
        self.is_per_run = per_run
        self.put = put
        """Names of those that were put in place of others."""
        self.wrap = wrap
        """Stands between the engine and every component."""

    def find(self, reference: str) -> Component | None:
        """The component of that name and version, or None."""
        name, _, version = reference.partition("@")
        component = self._components[name] if name in self._components else self._part(name)
        if component is None or (version and component.card.version != version):
            return None
        return component if self.wrap is None else self.wrap(component)

    def _part(self, name: str) -> Component | None:
        """A tool of a server, ``server/tool``."""
        server, slash, tool = name.partition("/")
        whole: object = self._components.get(server)
        if not slash or not isinstance(whole, HasTools):
            return None
        try:
            return whole.tool(tool)
        except ComponentError:  # the server surely has no such tool
            return None

    def names(self) -> Iterable[str]:
        """Every name, sorted."""
        return sorted(self._components)

    def replaced(self, component: Component) -> "ComponentCatalog":
        """The same catalog with one component in place of its namesake: a trained policy, another version.

        It also stands for its namesake in catalogs over this one.
        """
        name = component.card.name
        changed = {**self._components, name: component}
        put = self.put | {name}
        return ComponentCatalog(changed, per_run=self.is_per_run, made=self.made, put=put, wrap=self.wrap)

    def per_run(self) -> "ComponentCatalog":
        """The same catalog, keeping nothing from one run to the next; so do catalogs over it."""
        return ComponentCatalog(self._components, per_run=True, made=self.made, put=self.put, wrap=self.wrap)

    def wrapped(self, wrap: Wrap) -> "ComponentCatalog":
        """The same catalog, where what is found comes wrapped; so it does from catalogs over it."""
        return ComponentCatalog(self._components, per_run=self.is_per_run, made=self.made, put=self.put, wrap=wrap)

    def over(self, outer: "ComponentCatalog") -> "ComponentCatalog":
        """This catalog, and what only the outer one has.

        What both have from one file is the outer's, as it is now, and so is what was put into the outer one: a name is
        one component all over a run.
        """
        own = {
            name: each
            for name, each in self._components.items()
            if name not in outer.put and outer.made.get(name) is not each
        }
        both = {**{each.card.name: each for each in outer}, **own}
        made = {**outer.made, **self.made}
        return ComponentCatalog(both, per_run=outer.is_per_run, made=made, put=outer.put, wrap=outer.wrap)

    def __iter__(self) -> Iterator[Component]:
        return iter(self._components.values())


def _per_run(component: Component) -> Component:
    return component.per_run() if isinstance(component, KeepsBetweenRuns) else component
