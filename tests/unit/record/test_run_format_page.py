"""The page that documents the record says all of it, and nothing else."""

import re
from enum import StrEnum
from pathlib import Path

import msgspec
import pytest

from stretto.record.arrays import ArrayRef
from stretto.record.lines import ANNOTATION_FORMAT, EFFECT_FORMAT
from stretto.record.model import (
    FORMAT,
    Annotation,
    Attempt,
    EffectRecord,
    ErrorInfo,
    Manifest,
    Run,
    RunBudget,
    StepRecord,
)
from stretto.record.schema import json_schema
from stretto.types.enums import Effect, Reason, RunStatus, StepStatus
from stretto.types.errors import Violation
from stretto.types.learning import Action, ModelCall, Reward
from stretto.types.messages import Usage

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "run-format.md").read_text()

STRUCTS: list[type[msgspec.Struct]] = [
    Run,
    Manifest,
    RunBudget,
    StepRecord,
    Attempt,
    ErrorInfo,
    Violation,
    Action,
    ModelCall,
    ArrayRef,
    Reward,
    Usage,
    EffectRecord,
    Annotation,
]


def rows(heading: str) -> list[list[str]]:
    """Cells of the first table under a heading, without its head."""
    section = PAGE.split(f"\n{heading}\n", 1)[1]
    table = re.findall(r"^\|(.+)\|$", re.split(r"\n##", section, maxsplit=1)[0], flags=re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")] for line in table[2:]]


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_every_field_is_documented_in_order(struct: type[msgspec.Struct]) -> None:
    fields = [field.encode_name for field in msgspec.structs.fields(struct)]
    assert [cells[0].strip("`") for cells in rows(f"## `{struct.__name__}`")] == fields


@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_a_field_is_documented_without_default_exactly_when_it_is_required(struct: type[msgspec.Struct]) -> None:
    required = {field.encode_name for field in msgspec.structs.fields(struct) if field.required}
    if struct is Run:
        required.add("format")
    assert {cells[0].strip("`") for cells in rows(f"## `{struct.__name__}`") if not cells[2]} == required


@pytest.mark.parametrize(
    ("heading", "values"),
    [("### Run status", RunStatus), ("### Step status", StepStatus), ("### Reason", Reason), ("### Effect", Effect)],
)
def test_every_value_of_a_closed_set_is_documented(heading: str, values: type[StrEnum]) -> None:
    assert [cells[0].strip("`") for cells in rows(heading)] == [value.value for value in values]


def test_every_record_of_the_schema_has_its_section() -> None:
    names = set(json_schema()["$defs"])  # type: ignore[arg-type]  # an object, as any schema's definitions
    assert names <= {struct.__name__ for struct in STRUCTS}


def test_every_format_of_an_export_is_documented() -> None:
    assert [cells[0].strip("`") for cells in rows("### JSON Lines")] == [FORMAT, EFFECT_FORMAT, ANNOTATION_FORMAT]


def test_every_link_inside_the_page_leads_somewhere() -> None:
    headings = re.findall(r"^#+ (.+)$", PAGE, flags=re.MULTILINE)
    anchors = {re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\]\(#([^)]+)\)", PAGE)) <= anchors
