"""Runs the data cases of `exec/`: a declaration, an input, the bytes that a program reads, those that it writes."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from stretto.components.declare import build_component
from stretto.spec.model import ComponentDecl
from stretto.spec.workflow import load_workflow
from stretto.testing.request import request_for
from stretto.types.errors import ComponentError, ContractError, SpecError
from stretto.types.messages import Response
from stretto.types.protocols import Component

CASES_DIR = Path(__file__).parent / "exec"
KEYS = {"name", "declare", "input", "stdin", "stdout", "stderr", "exit", "output", "refused", "error", "problem"}
ENDS = {"output", "refused", "error", "problem"}

PROGRAM = ["sh", "-c", "cat > stdin; cat stdout; cat stderr >&2; exit $0"]
"""Keeps what it read, and writes what it was told to."""


def _all_cases() -> list[dict[str, Any]]:
    yaml = YAML(typ="safe", pure=True)
    files = sorted(CASES_DIR.glob("*.yaml"))
    return [{**case, "name": f"{file.stem}: {case['name']}"} for file in files for case in yaml.load(file)]


CASES = _all_cases()


def _bytes(written: Any) -> bytes:
    """Text is UTF-8; ``{hex: ...}`` is bytes, ``{cp037: ...}`` text in that encoding, a list all of them in order."""
    if isinstance(written, list):
        return b"".join(map(_bytes, written))
    if isinstance(written, str):
        return written.encode()
    ((encoding, text),) = written.items()
    return bytes.fromhex(text) if encoding == "hex" else str(text).encode(encoding)


def _component(case: dict[str, Any], folder: Path) -> Component:
    declared = {"kind": "exec", "command": [*PROGRAM, str(case.get("exit", 0))], **case["declare"]}
    path = folder / "workflow.yaml"
    path.write_text(
        f"stretto: 1\ncomponents: {{ it: {json.dumps(declared)} }}\nsteps: [{{ name: s, component: it }}]\n"
    )
    (declaration,) = load_workflow(path).components
    assert isinstance(declaration, ComponentDecl)
    return build_component(declaration, folder=folder)


async def _asked(component: Component, case: dict[str, Any]) -> Response:
    await component.open()  # type: ignore[attr-defined]  # programs do
    try:
        return await component(request_for(**case.get("input", {})))
    finally:
        await component.close()  # type: ignore[attr-defined]  # programs do


def test_cases_are_well_formed_and_many() -> None:
    assert [case["name"] for case in CASES if set(case) - KEYS or len(set(case) & ENDS) != 1] == []
    names = [case["name"] for case in CASES]
    assert len(set(names)) == len(names) >= 60


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_program_reads_and_answers_as_the_case_says(case: dict[str, Any], tmp_path: Path) -> None:
    for name in ("stdout", "stderr"):
        (tmp_path / name).write_bytes(_bytes(case.get(name, "")))
    if "problem" in case:
        with pytest.raises(SpecError) as told:
            _component(case, tmp_path)
        return _check_texts(str(told.value), case["problem"])
    component = _component(case, tmp_path)
    stdin = tmp_path / "stdin"
    if "output" in case:
        assert asyncio.run(_asked(component, case)).output == case["output"]
        assert stdin.read_bytes() == _bytes(case.get("stdin", "{}\n"))
        return _check_card(component, case)
    with pytest.raises(ComponentError) as raised:
        asyncio.run(_asked(component, case))
    assert stdin.exists() is ("refused" not in case)
    if "refused" in case:
        return _check_refusal(raised.value, case["refused"])
    if "stdin" in case:
        assert stdin.read_bytes() == _bytes(case["stdin"])
    assert raised.value.rpc_code.value == case["error"]["code"], str(raised.value)
    return _check_texts(str(raised.value), case["error"].get("contains", []))


def _check_card(component: Component, case: dict[str, Any]) -> None:
    """What was taken and given fits the schemas of the card."""
    import jsonschema_rs

    for schema, value in ((component.card.input, case.get("input", {})), (component.card.output, case["output"])):
        jsonschema_rs.validate(dict(schema), value)


def _check_refusal(error: ComponentError, expected: dict[str, str]) -> None:
    assert isinstance(error, ContractError)
    assert error.sent is False
    found = {violation.pointer: violation.message for violation in error.violations}
    assert set(found) == set(expected), found
    for pointer, text in expected.items():
        assert text in found[pointer]


def _check_texts(told: str, expected: list[str]) -> None:
    assert [text for text in expected if text not in told] == [], told
