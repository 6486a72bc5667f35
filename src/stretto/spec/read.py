"""From a path, or a text, to the tree of a file; refuses at once what can be no workflow or contract."""

from pathlib import Path
from typing import Final

from stretto.spec.codes import SpecCode
from stretto.spec.json_tree import json_tree
from stretto.spec.nodes import ListNode, MapNode, Node, ScalarNode, describe
from stretto.spec.report import Report
from stretto.spec.source import Source
from stretto.spec.suggest import nearest
from stretto.spec.yaml_tree import yaml_tree
from stretto.types.errors import Problem, SpecError

MAX_BYTES: Final = 1 << 20
"""A workflow of 500 steps is about 150 KB. What is larger is data, and reading it as YAML would take minutes."""

BOM: Final = "\ufeff"
"""Some editors of Windows begin a UTF-8 file with it; it means nothing."""


def read_source(path: Path, what: str = "a workflow, a contract or a chaos plan") -> Source:
    """The text of a file; `what` names its kind in messages.

    Raises SpecError when there is none, or it is too large, or not UTF-8.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise SpecError([_missing(path, what)]) from error
    except IsADirectoryError as error:
        inside = path / "workflow.yaml"
        expected = f"the path of a file, such as {inside}" if inside.is_file() else "the path of a file"
        raise SpecError([_whole(path, SpecCode.NOT_A_FILE, "this is a folder", expected)]) from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise SpecError(
            [_whole(path, SpecCode.UNREADABLE, f"this file cannot be read: {error}", "a file you may read")]
        ) from error
    if len(content) > MAX_BYTES:
        raise SpecError([_too_large(str(path))])
    return Source(str(path), _decoded(path, content))


def read_mapping(source: Source, what: str, report: Report) -> MapNode:
    """The mapping that a file consists of; `what` names the kind of file in messages: ``workflow``, ``contract``.

    Raises SpecError when the text cannot be read as one mapping; what can be passed over is reported.
    """
    root = _read_root(source, report)
    if not isinstance(root, MapNode):
        report.fail(_no_mapping(root, source, what))
    return root


def read_list(source: Source, what: str, report: Report) -> ListNode:
    """The list that a file consists of; `what` names its entries in messages, in the plural.

    Raises SpecError when the text cannot be read as one list; what can be passed over is reported.
    """
    root = _read_root(source, report)
    if not isinstance(root, ListNode):
        report.fail(_no_list(root, source, what))
    return root


def _read_root(source: Source, report: Report) -> Node | None:
    if len(source.text) > MAX_BYTES:
        raise SpecError([_too_large(source.name)])
    read = json_tree if source.name.lower().endswith(".json") else yaml_tree
    return read(source, report)


def _no_list(root: Node | None, source: Source, what: str) -> Problem:
    expected = f"a list of {what}"
    if root is None:
        return Problem(code=SpecCode.EMPTY, message="this file is empty", file=source.name, expected=expected)
    return root.span.problem(SpecCode.TYPE, f"the top of this file is {describe(root)}", expected=expected)


def _no_mapping(root: Node | None, source: Source, what: str) -> Problem:
    if root is None:
        return Problem(
            code=SpecCode.EMPTY,
            message=f"this {what} file is empty",
            file=source.name,
            expected=f"a mapping with the keys of a {what}",
            suggestion=f"stretto schema {what.partition(' ')[0]} prints what may stand in it",
        )
    suggestion = ""
    if isinstance(root, ListNode) and what == "workflow":
        suggestion = "put 'steps:' above the list and indent it"
    elif isinstance(root, ScalarNode) and ":" in root.text:
        suggestion = f"a space after the colon: {root.text.replace(':', ': ', 1)}"
    return root.span.problem(
        SpecCode.NOT_A_MAPPING,
        f"the top of this {what} file is {describe(root)}",
        expected=f"a mapping with the keys of a {what}",
        suggestion=suggestion,
    )


def _missing(path: Path, what: str) -> Problem:
    folder = path.parent
    beside = sorted(entry.name for entry in folder.iterdir() if entry.is_file()) if folder.is_dir() else []
    near = nearest(path.name, beside)
    return Problem(
        code=SpecCode.NOT_FOUND,
        message="there is no such file"
        if folder.is_dir()
        else f"there is no such file: the folder {folder} does not exist",
        file=str(path),
        expected=f"the path of {what}",
        suggestion=str(folder / near) if near else "",
    )


def _too_large(name: str) -> Problem:
    return Problem(
        code=SpecCode.TOO_LARGE,
        message=f"this file is larger than {MAX_BYTES >> 20} MiB; nothing of it was read",
        file=name,
        expected="a workflow or contract, which is seldom more than a few KB",
        suggestion="keep data in files that components read; split a large workflow into sub-workflows",
    )


def _whole(path: Path, code: SpecCode, message: str, expected: str) -> Problem:
    return Problem(code=code, message=message, file=str(path), expected=expected)


def _decoded(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8").removeprefix(BOM)
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        mark = Source(str(path), before).mark(len(before))
        problem = Problem(
            code=SpecCode.ENCODING,
            message=f"the byte 0x{content[error.start]:02x} at offset {error.start:,} is not UTF-8 text",
            file=str(path),
            line=mark.line,
            column=mark.column,
            expected="a text file in UTF-8",
            suggestion=_encoding_remedy(content),
        )
        raise SpecError([problem]) from error


def _encoding_remedy(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "this looks like UTF-16: save it as UTF-8"
    if b"\x00" in content:
        return "this looks like a binary file: check the path"
    return "save it as UTF-8 in your editor"
