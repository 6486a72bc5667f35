"""The registry that a workflow's components are found in."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, runtime_checkable

from stretto.types.errors import ComponentError
from stretto.types.protocols import Component


@runtime_checkable
class HasTools(Protocol):
    """A component that is made of others: a server with tools."""

    def tool(self, name: str) -> Component:
        """The component of one tool; asking a tool that the server does not have fails when it is called."""
        ...


class ComponentCatalog:
    """Components by name. A reference may carry a version, ``name@1.2.0``, which must then be the one found."""

    def __init__(self, components: Mapping[str, Component]) -> None:
        self._components = dict(components)

    def find(self, reference: str) -> Component | None:
        """The component of that name and version, or None."""
        name, _, version = reference.partition("@")
        component = self._components.get(name) or self._part(name)
        if component is None or (version and component.card.version != version):
            return None
        return component

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
        """The same catalog with one component in place of its namesake: a trained policy, another version."""
        return ComponentCatalog({**self._components, component.card.name: component})

    def over(self, outer: "ComponentCatalog") -> "ComponentCatalog":
        """This catalog, and what only the outer one has."""
        return ComponentCatalog({**{each.card.name: each for each in outer}, **self._components})

    def __iter__(self) -> Iterator[Component]:
        return iter(self._components.values())
