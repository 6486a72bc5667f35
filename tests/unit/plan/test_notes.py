"""What components know of themselves is among the plan's notes."""

from pathlib import Path

from stretto.runtime.load import load
from tests.unit.components.rules.building import single, table, write

WORKFLOW = """
stretto: 1
name: told
components: {rules: {kind: rules, file: rules.json}}
steps: [{name: one, component: rules, input_mapping: {a: "input.a"}}]
"""


def test_what_the_analysis_of_rules_found_is_a_note_at_its_place(tmp_path: Path) -> None:
    write(tmp_path, single(table([{"a": "len($) > 1", "o": "1"}, {"o": "2"}])))
    (tmp_path / "workflow.yaml").write_text(WORKFLOW)
    plan = load(tmp_path / "workflow.yaml", store=tmp_path / "runs.db").plan
    (note,) = [note for note in plan.notes if "rules.json" in note.place]
    assert note.place.endswith("rules.json:31:12")
    assert "is not fully analysed" in note.text
