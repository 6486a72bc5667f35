"""Values that fit their schema and are not what was meant: from all domains of a contract, and from enums, ranges and
booleans of a card's output schema. Of a text without a domain nobody knows what would be wrong, so it has none."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
import orjson

from stretto.chaos.domains import FieldDomains
from stretto.plan.check import Check
from stretto.plan.referred import DEEPEST, referred
from stretto.types.json import Json, Schema, ValuePath, render_path

_MOST_ITEMS: Final = 8
"""Of one list: the items of a list have one schema, so the next would tell the same."""


class Site(msgspec.Struct, frozen=True):
    """A value in an output, and what could stand there in its place."""

    path: ValuePath
    value: Json
    others: tuple[Json, ...]
    """Each fits the schema as well; none is equal to the value."""

    @property
    def field(self) -> str:
        """Where it is, as people type it: ``plan.steps[0].type``."""
        return render_path(self.path)


def sites(output: Json, schema: Schema, domains: FieldDomains, field: str | None = None) -> list[Site]:
    """Every place of an output where a wrong value could stand; only inside `field`, where one is given."""
    found = _Walk(schema, domains).sites(output, schema, (), 0)
    inside = (site for site in found if field is None or (site.path and site.path[0] == field))
    return list(_fitting(inside, output, Check(schema)))


def put(output: Json, site: Site, other: Json) -> Json:
    """A copy of the output with another value at the site."""
    changed: Any = orjson.loads(orjson.dumps(output))  # Any: JSON, walked by a path that it has
    if not site.path:
        return other
    inner = changed
    for part in site.path[:-1]:
        inner = inner[part]
    inner[site.path[-1]] = other
    return changed  # type: ignore[no-any-return]  # JSON, as it was given


def standing(output: Json, site: Site) -> list[Json]:
    """What an output has at a site, alone in a list; an empty one where it has no such place."""
    found = output
    for part in site.path:
        match found, part:
            case dict(), str() if part in found:
                found = found[part]
            case list(), int() if part < len(found):
                found = found[part]
            case _:
                return []
    return [found]


def has_wrong_values(schema: Schema, domains: FieldDomains, field: str | None = None) -> bool:
    """Whether an output of that schema can hold a place where a wrong value could stand."""
    properties = schema.get("properties")
    tops = {path.partition(".")[0] for path in domains}
    if tops if field is None else field in tops:
        return True
    if field is not None:
        inner = properties.get(field) if isinstance(properties, dict) else None
        return _bounded(inner, schema, 0)
    return _bounded(schema, schema, 0)


class _Walk:
    def __init__(self, root: Schema, domains: FieldDomains) -> None:
        self._root = root
        self._domains = domains

    def sites(
        self,
        value: Json,
        schema: Any,  # Any, here and below: a JSON Schema, or a part of one, which may be a boolean
        path: tuple[str | int, ...],
        depth: int,
    ) -> Iterator[Site]:
        """The places below one value; `schema` is the part of the root that it was held to."""
        if depth > DEEPEST or not isinstance(schema, Mapping | bool):
            return
        schema = referred(schema, self._root)
        domain = self._domains.get(".".join(part for part in path if isinstance(part, str)))
        if domain is not None and isinstance(value, str):
            yield from _site(path, value, domain)
            return
        for branch in _branches(schema):
            yield from self.sites(value, branch, path, depth + 1)
        yield from _site(path, value, _alternatives(value, schema))
        if isinstance(value, dict):
            for name, inner in value.items():
                yield from self.sites(inner, _property(schema, name), (*path, name), depth + 1)
        elif isinstance(value, list):
            items = schema.get("items", True) if isinstance(schema, Mapping) else True
            for index, inner in enumerate(value[:_MOST_ITEMS]):
                yield from self.sites(inner, items, (*path, index), depth + 1)


def _site(path: tuple[str | int, ...], value: Json, among: Iterable[Json]) -> Iterator[Site]:
    others = tuple(other for other in among if not _same(other, value))
    if others:
        yield Site(path, value, others)


def _fitting(found: Iterable[Site], output: Json, check: Check) -> Iterator[Site]:
    """The sites with what really fits, each place once: schemas say more than one key of theirs."""
    seen: set[str] = set()
    for site in found:
        others = tuple(other for other in site.others if check.is_valid(put(output, site, other)))
        if others and site.field not in seen:
            seen.add(site.field)
            yield Site(site.path, site.value, others)


def _alternatives(value: Json, schema: Any) -> Iterable[Json]:
    """What a schema allows there, one by one; nothing where it allows too much to tell."""
    if not isinstance(schema, Mapping):
        return ()
    listed = schema.get("enum")
    if isinstance(listed, list):
        return listed
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int | float):
        return _in_range(value, schema)
    return ()


def _in_range(value: float, schema: Mapping[str, Any]) -> Iterable[Json]:
    """Both ends of a range and its middle; for one that is open on a side, what lies one, or the value, away."""
    low, high = (
        schema.get("minimum", schema.get("exclusiveMinimum")),
        schema.get("maximum", schema.get("exclusiveMaximum")),
    )
    if low is None and high is None:
        return ()
    away = max(1.0, abs(value))
    low, high = value - away if low is None else low, value + away if high is None else high
    found: list[float] = [low, high, (low + high) / 2]
    if schema.get("type") == "integer" or isinstance(value, int):
        return [math.floor(each) for each in found]
    return [float(each) for each in found]


def _bounded(schema: Any, root: Schema, depth: int) -> bool:
    """Whether something in a schema is bounded."""
    if not isinstance(schema, Mapping) or depth > DEEPEST:
        return False
    schema = referred(schema, root)
    if not isinstance(schema, Mapping):
        return False
    listed = schema.get("enum")
    if isinstance(listed, list):
        return len(listed) > 1
    bounds = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
    types = schema.get("type")
    if bounds & set(schema) or types == "boolean" or (isinstance(types, list) and "boolean" in types):
        return True
    properties = schema.get("properties")
    inner = [*(properties.values() if isinstance(properties, dict) else ()), schema.get("items"), *_branches(schema)]
    return any(_bounded(each, root, depth + 1) for each in (*inner, schema.get("additionalProperties")))


def _branches(schema: Any) -> list[Any]:
    if not isinstance(schema, Mapping):
        return []
    return [branch for word in ("anyOf", "oneOf", "allOf") for branch in schema.get(word) or ()]


def _property(schema: Any, name: str) -> Any:
    if not isinstance(schema, Mapping):
        return True
    properties = schema.get("properties")
    if isinstance(properties, dict) and name in properties:
        return properties[name]
    return schema.get("additionalProperties", True)


def _same(one: Json, other: Json) -> bool:
    """Equal as JSON: 1 is 1.0, and is not true."""
    return one == other and isinstance(one, bool) is isinstance(other, bool)
