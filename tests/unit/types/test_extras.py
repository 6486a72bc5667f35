"""The remedy for a missing extra fits the installation that it is told to."""

from pathlib import Path

import pytest

from stretto.types import extras
from stretto.types.errors import MissingExtraError


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        (None, "pip install 'stretto[rules]'"),
        ('{"url": "https://example.org/stretto.whl", "archive_info": {}}', "pip install 'stretto[rules]'"),
        ('{"url": "file:///tmp/stretto.whl", "archive_info": {}}', "pip install 'stretto[rules]'"),
        ('{"url": "file:///srv/a%20b", "dir_info": {"editable": true}}', "pip install -e '/srv/a b[rules]'"),
        ('{"url": "file:///srv/clone", "dir_info": {}}', "pip install '/srv/clone[rules]'"),
    ],
)
def test_it_is_installed_from_where_the_rest_came(
    monkeypatch: pytest.MonkeyPatch, origin: str | None, expected: str
) -> None:
    monkeypatch.setattr(extras, "_direct_url", lambda: origin)
    assert extras.install_command("rules") == expected
    assert str(MissingExtraError("kind rules", "rules")).endswith(f"run: {expected}")


def test_inside_the_clone_its_folder_needs_no_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(
        extras, "_direct_url", lambda: f'{{"url": "{tmp_path.as_uri()}", "dir_info": {{"editable": true}}}}'
    )
    monkeypatch.chdir(tmp_path)
    assert extras.install_command("rules") == "pip install -e '.[rules]'"


def test_a_source_tree_that_was_never_installed_is_no_hindrance(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    def missing(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert extras.install_command("rules") == "pip install 'stretto[rules]'"
