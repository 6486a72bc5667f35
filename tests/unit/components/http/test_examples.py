"""What the keys of a declaration show as their examples is what they take."""

from typing import Any

import pytest

from stretto.components.http.declaration import HTTP
from stretto.spec.read import read_mapping
from stretto.spec.records import Key, Record
from stretto.spec.report import Report
from stretto.spec.source import Source


def _keys(record: Record[Any], seen: set[str]) -> dict[str, Key[Any]]:
    """The keys of a record and of those inside it, by where they stand."""
    found: dict[str, Key[Any]] = {}
    seen.add(record.name)
    for key in record.keys.values():
        found[f"{record.name}.{key.name}"] = key
        inside = getattr(key.shape, "item", getattr(key.shape, "value", key.shape))
        if isinstance(inside, Record) and inside.name not in seen:
            found |= _keys(inside, seen)
    return found


KEYS = _keys(HTTP, set())


def test_every_record_is_looked_into() -> None:
    inside = {place.partition(".")[0] for place in KEYS}
    assert inside >= {"service", "action", "confirm", "response", "error", "paging", "auth", "oauth2", "soap"}


@pytest.mark.parametrize("place", KEYS)
def test_an_example_is_read_without_a_problem(place: str) -> None:
    key, report = KEYS[place], Report()
    mapping = read_mapping(Source("example.yaml", f"{key.example}\n"), "an example", report)
    node = mapping.get(key.name)
    assert node is not None
    key.shape.read(node, key.name, report)
    report.raise_if_any()
