"""What is declared wrongly is told at its place in the file, and every server that cannot be asked."""

from pathlib import Path

import pytest

import stretto
from stretto.types.errors import Problem, SpecError

HERE = 'url: "acp+http://127.0.0.1:1"'


def problems(text: str, folder: Path) -> tuple[Problem, ...]:
    file = folder / "workflow.yaml"
    file.write_text("stretto: 1\nname: x\n" + text)
    with pytest.raises(SpecError) as caught:
        stretto.load(file, store=folder / "runs.db")
    return caught.value.problems


@pytest.mark.parametrize(
    ("declared", "column", "said"),
    [
        ("kind: acp", 9, "has no `url`"),
        ('kind: acp, endpoint: "acp+http://127.0.0.1:1"', 21, 'try: url: "acp+http://127.0.0.1:1"'),
        ('kind: acp, url: "http://127.0.0.1:1"', 3, "'http://127.0.0.1:1'; expected an address such as acp+http://"),
        ('kind: acp, url: "acp+http://${HOST}:1"', 3, "'acp+http://${HOST}:1'; expected an address such as"),
        (f"kind: acp, {HERE}, verb: reflect", 58, "expected: one of plan, execute, observe\n"),
        (f"kind: acp, {HERE}, pin: version", 57, "expected: one of digest, warn, none\n"),
        (f"kind: acp, {HERE}, max_connections: 0", 69, "expected: a whole number, 1 or more"),
        (f"kind: acp, {HERE}, describe_timeout: 0s", 70, "expected: a duration above 0"),
        (f"kind: acp, {HERE}, retries: 3", 52, "a component has no key 'retries'"),
        (f"kind: acp, {HERE}, ca: ca.pem", 3, "has `ca`, which has no effect without TLS: https"),
        (f"kind: acp, {HERE}, card: none.json", 3, "the card none.json cannot be read"),
        (f'kind: acp, {HERE}, token_env: "a b"', 3, "expected the name of an environment variable"),
    ],
)
def test_a_mistake_is_told_at_its_place(declared: str, column: int, said: str, tmp_path: Path) -> None:
    text = f"components:\n  shop: {{{declared}}}\nsteps:\n  - {{name: a, component: shop}}\n"
    [problem] = problems(text, tmp_path)
    assert (problem.line, problem.column) == (4, column)
    assert said in str(problem)


def test_every_server_that_cannot_be_asked_is_told(tmp_path: Path) -> None:
    text = """\
components:
  shop: {kind: acp, url: "acp+http://169.254.169.254"}
  desk: {kind: acp, url: "acp+http://127.0.0.1:9"}
steps:
  - {name: a, component: shop}
  - {name: b, component: desk}
  - {name: c, component: "acp+grpc://127.0.0.1"}
"""
    found = problems(text, tmp_path)
    assert [(problem.line, problem.column) for problem in found] == [(4, 3), (5, 3), (9, 26)]
    for problem, said in zip(found, ["may not be called", "cannot be reached", "has no port"], strict=True):
        assert said in problem.message


def test_a_file_that_holds_no_card_says_how_one_is_made(tmp_path: Path) -> None:
    (tmp_path / "card.json").write_text('{"error": {"code": "usage", "message": "cannot be reached"}}')
    text = f"components:\n  shop: {{kind: acp, {HERE}, card: card.json}}\nsteps:\n  - {{name: a, component: shop}}\n"
    [problem] = problems(text, tmp_path)
    assert "card.json holds no card; stretto acp describe URL --json > FILE makes one, while" in str(problem)
