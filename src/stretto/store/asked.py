"""What a caller asks of the store, judged before a query is made of it."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
import orjson

from stretto.record.canonical import snapshot
from stretto.record.model import Annotation
from stretto.store.reading import Filters
from stretto.types.arguments import check_text, check_whole, wrong
from stretto.types.enums import RunStatus
from stretto.types.errors import NotJsonError, UsageError

_NAMES_OF_A_RUN: Final = "a run's id, the beginning of it, or its workflow_run_id"


def check_run_id(run_id: str) -> None:
    """Raise UsageError for what cannot name a run."""
    what = "the run that is asked for"
    check_text(what, run_id, _NAMES_OF_A_RUN)
    if not run_id.rpartition(".")[2].strip():
        raise wrong(what, run_id, _NAMES_OF_A_RUN)


def check_run_ids(run_ids: object) -> list[str]:
    """The ids as a list. One text is no list of them, though Python would take it for one of its characters."""
    if isinstance(run_ids, str | bytes) or not isinstance(run_ids, Iterable):
        raise wrong("run_ids", run_ids, f"a list, each {_NAMES_OF_A_RUN}")
    return list(run_ids)


def check_filters(filters: Mapping[str, object], limit: object) -> None:
    """Raise UsageError for a filter that there is not, or a value that it cannot have; None is no filter."""
    if limit is not None:
        check_whole("limit", limit, least=0)
    for name, value in filters.items():
        if name not in Filters.__annotations__:
            raise UsageError(f"runs have no filter '{name}'; there are: {', '.join(Filters.__annotations__)}")
        if value is None:
            continue
        if name == "since_ns":
            check_whole(name, value)
        elif name == "status":
            _check_status(value)
        else:
            check_text(name, value)


def _check_status(value: object) -> None:
    known = [str(status) for status in RunStatus]
    if value not in known:
        raise wrong("status", value, f"one of {', '.join(known)}")


def as_annotation(annotation: object) -> Annotation:
    """The annotation with its value as plain JSON.

    Raises UsageError for what is no annotation, NotJsonError for a value that a record cannot hold.
    """
    if not isinstance(annotation, Annotation):
        raise wrong("an annotation", annotation, "a stretto.Annotation")
    check_run_id(annotation.run_id)
    for field in ("name", "path", "by", "reason"):
        check_text(f"the {field} of an annotation", getattr(annotation, field))
    check_whole("the at_ns of an annotation", annotation.at_ns)
    try:
        value = orjson.loads(snapshot(annotation.value))
    except NotJsonError as error:
        message = f"the value of the annotation '{annotation.name}' of run {annotation.run_id}: {error.reason}"
        raise NotJsonError(message, error.pointer) from error
    return msgspec.structs.replace(annotation, value=value)


def check_word(response: object, path: object, by: object, reason: object) -> None:
    """Raise UsageError for what cannot be a person's word on a write."""
    check_text("path", path)
    check_text("by", by)
    check_text("reason", reason)
    if response is not None and not isinstance(response, dict):
        raise wrong("response", response, "the object that the write answered, or None when it did not happen")


def check_settings(workflow: object, changes: object, by: object, reason: object) -> None:
    """Raise UsageError for what cannot be changes of a workflow's settings."""
    check_text("workflow", workflow)
    check_text("by", by)
    check_text("reason", reason)
    if not isinstance(changes, Mapping) or not changes:
        raise wrong("the changes", changes, "a mapping of keys to values, not empty")
    for key, value in changes.items():
        check_text("the key of a setting", key)
        if value is not None and not isinstance(value, str | int | float):
            raise wrong(f"the value of '{key}'", value, "text, a number, true or false, or None to take it back")
