"""How much is asked of the engine about one field."""

from pathlib import Path

import pytest

from stretto.components.rules import axes
from stretto.components.rules.analysis import check_rules
from tests.unit.components.rules.building import single, table, write


def test_a_field_with_too_many_cells_and_values_is_told_and_the_others_are_analysed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(axes, "MAX_ASKED", 200)
    rows = [{"a": str(number), "b": "true", "o": "1"} for number in range(9)]
    file = write(
        tmp_path, single(table([*rows, {"b": "true", "o": "2"}, {"b": "false", "o": "3"}, {"o": "4"}], ("a", "b")))
    )
    analysis = check_rules(file)
    assert [note.text for note in analysis.notes] == [
        "the table 'Table' is not fully analysed: `a` is compared with too many values, in too many cells"
    ]
    assert analysis.tables[0].always_answers
