"""The card that a declaration compiles to, and what a program does to the world."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stretto.components.exec import ExecProgram, Field, FieldType, Format, Message, Overpunch, read_picture
from stretto.types.enums import Effect
from stretto.types.errors import ComponentError, InDoubtError, UsageError
from stretto.types.messages import Request
from tests.unit.components.exec.conftest import JSON, TEXT, program, shell

MakeRequest = Callable[..., Request]

RECORD = Message(
    format=Format.FIXED,
    overpunch=Overpunch.ASCII,
    fields=(
        Field(name="age", picture=read_picture("9(3)"), means="in years"),
        Field(name="income", picture=read_picture("S9(7)V99")),
        Field(name="debt", picture=read_picture("9(7)V99"), type=FieldType.NUMBER, optional=True),
        Field(name="region", width=4, values=("NORD", "SUED")),
        Field(name="account", picture=read_picture("9(10)"), type=FieldType.STRING),
        Field(name="note", width=20),
        Field(filler=3),
    ),
)


def test_the_schemas_of_a_card_come_of_the_fields(tmp_path: Path) -> None:
    card = program(tmp_path, "cat", request=RECORD, response=RECORD).card
    assert card.input["properties"] == {
        "age": {"type": "integer", "minimum": 0, "maximum": 999, "description": "in years"},
        "income": {
            "type": ["string", "number"],
            "pattern": r"^-?[0-9]{1,7}(\.[0-9]{1,2})?$",
            "minimum": -9999999.99,
            "maximum": 9999999.99,
        },
        "debt": {"anyOf": [{"type": "number", "minimum": 0.0, "maximum": 9999999.99}, {"type": "null"}]},
        "region": {"enum": ["NORD", "SUED"]},
        "account": {"type": "string", "pattern": "^[0-9]{10}$"},
        "note": {"type": "string", "maxLength": 20},
    }
    assert card.input["required"] == ["age", "income", "region", "account", "note"]
    assert card.input["additionalProperties"] is False
    output: Any = card.output
    assert output["properties"]["income"] == {"type": "string", "pattern": r"^-?[0-9]{1,7}\.[0-9]{2}$"}
    assert output["required"] == ["age", "income", "debt", "region", "account", "note"]


def test_a_program_of_which_nobody_says_more_is_taken_to_write(tmp_path: Path) -> None:
    card = program(tmp_path, "cat").card
    assert (card.kind, card.effect_of(""), card.idempotent, card.confirms) == ("exec", Effect.WRITE, False, False)
    assert program(tmp_path, "cat", effects="pure").card.effect_of("") is Effect.PURE


def test_effects_may_be_told_by_action(tmp_path: Path) -> None:
    asked = Message(format=Format.FIXED, fields=(Field(name="do", width=4),))
    card = program(tmp_path, "cat", request=asked, effects={"LOOK": Effect.READ}, action_field="do").card
    assert card.action_of({"do": "LOOK"}) == "LOOK"
    assert [card.effect_of(action) for action in ("LOOK", "BOOK")] == [Effect.READ, Effect.WRITE]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"command": []}, "has an empty `command`"),
        ({"command": [""]}, "that no system can start"),
        ({"process": "forever"}, "`process` is 'forever'; expected one of per_call, persistent"),
        ({"effects": "none"}, "`effects` is 'none'; expected one of pure, read, write"),
        ({"name": "a b"}, "cannot be the name of a component"),
        ({"command": ["a\0b"]}, "that no system can start"),
        ({"env": {"A=B": "c"}}, "the variable 'A=B'"),
        ({"processes": 0}, "processes 0; expected 1 or more"),
        ({"max_output_bytes": 0}, "max_output_bytes 0"),
        ({"exit_codes": {0: "ok"}}, "exit code 0; expected 1 to 255"),
        ({"exit_codes": {2: "nope"}}, "has 'nope' for exit code 2"),
        ({"effects": "read", "idempotent": True}, "`idempotent`, which has no effect where nothing is a write"),
        ({"effects": "pure", "confirm": ["x"]}, "`confirm`, which has no effect where nothing is a write"),
        ({"effects": {"LOOK": Effect.READ}}, "no `action_field`"),
        ({"request": TEXT, "action_field": "do"}, "`action_field` 'do', and its request has no such field"),
        ({"request": TEXT, "correlate": "id"}, "`correlate` 'id', and its request has no such field; it has text"),
        ({"response": TEXT, "correlate": "id"}, "`correlate` 'id', and its response has no such field; it has text"),
    ],
)
def test_what_cannot_work_is_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        ExecProgram(
            **{"name": "it", "command": ["cat"], "request": JSON, "response": JSON, "folder": tmp_path, **options}
        )
    assert message in str(caught.value)


def test_the_digest_covers_the_declaration_and_the_files_of_the_command(tmp_path: Path) -> None:
    rules = tmp_path / "rules.sh"
    rules.write_text("cat")
    plain: dict[str, Any] = {}

    def digest(*command: str, **options: Any) -> str:
        return str(program(tmp_path, *(command or ("sh", "rules.sh")), **options).card.digest)

    first = digest(**plain)
    assert first == digest(env={"A": "b"}, processes=3, description="x", max_output_bytes=5, inherit=["X"])
    assert (
        len({first, digest("sh", "-c", "cat"), digest(process="persistent"), digest(exit_codes={2: "not_found"})}) == 4
    )
    assert first != digest(request=RECORD)
    wider = Message(format=Format.FIXED, overpunch=Overpunch.ASCII, fields=(*RECORD.fields[:-1], Field(filler=4)))
    assert digest(request=RECORD) != digest(request=wider)
    rules.write_text("cat # and more")
    assert digest(**plain) != first


async def test_a_word_that_is_a_whole_script_is_no_file(tmp_path: Path, make_request: MakeRequest) -> None:
    long = shell(tmp_path, f"cat # {'x' * 5_000}/y")
    assert (await long(make_request(n=1))).output == {"n": 1}


def test_files_outside_the_folder_are_not_read_for_the_digest(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    outside = tmp_path / "outside.sh"
    outside.write_text("a")
    before = [program(inside, "sh", word).card.digest for word in ("../outside.sh", str(outside))]
    outside.write_text("b")
    assert [program(inside, "sh", word).card.digest for word in ("../outside.sh", str(outside))] == before


@pytest.mark.parametrize(
    ("script", "expected"),
    [("cat", {"order": 7}), ("exit 2", None)],
)
async def test_a_program_is_asked_whether_a_write_happened(
    tmp_path: Path, make_request: MakeRequest, script: str, expected: object
) -> None:
    books = shell(tmp_path, "exit 9", confirm=["sh", "-c", script], exit_codes={2: "not_found"})
    assert books.card.confirms
    answer = await books.confirm(make_request(order=7))
    assert (None if answer is None else answer.output) == expected


@pytest.mark.parametrize(
    ("script", "message"),
    [("exit 3", "exit code 3"), ("echo what?", "answered what cannot be read"), ("kill -9 $$", "ended by SIGKILL")],
)
async def test_a_program_that_cannot_tell_leaves_the_write_in_doubt(
    tmp_path: Path, make_request: MakeRequest, script: str, message: str
) -> None:
    books = shell(tmp_path, "exit 9", confirm=["sh", "-c", script], exit_codes={2: "not_found"})
    with pytest.raises(InDoubtError, match=message):
        await books.confirm(make_request(order=7))


async def test_a_confirming_program_is_looked_for_when_it_is_opened(tmp_path: Path) -> None:
    with pytest.raises(ComponentError, match="no program 'no-such-program'"):
        await program(tmp_path, "cat", confirm=["no-such-program"]).open()


def test_one_program_serves_one_event_loop_after_another(tmp_path: Path, make_request: MakeRequest) -> None:
    echo = program(tmp_path, "cat")
    for n in range(2):
        assert asyncio.run(echo(make_request(n=n))).output == {"n": n}
