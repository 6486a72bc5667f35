"""The Python files that a workflow is made of, wherever its files name them."""

from pathlib import Path

import pytest

import stretto
from stretto.types.ids import digest_of

ONE = """import stretto
{imports}

@stretto.component('{name}', effects='pure')
def {name}() -> dict:
    return {{}}
"""

PLAIN = "{imports}\n\ndef {name}(n: int = 1) -> dict:\n    return {{}}\n"

STEP = "steps: [{name: a, component: a}]\noutput: {a: steps.a}\n"

HEAD = "stretto: 1\nname: w\n"


def code(name: str = "a", *imports: str, form: str = ONE) -> str:
    return form.format(name=name, imports="\n".join(f"import {each}" for each in imports))


def loaded(folder: Path, files: dict[str, str]) -> stretto.Workflow:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return stretto.load(folder / "flow" / "workflow.yaml", store=folder / "runs.db")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            {
                "flow/workflow.yaml": HEAD + STEP,
                "flow/components.py": code("a", "code_helper"),
                "flow/code_helper.py": "",
                "flow/train.py": "import code_helper\n",
            },
            {"components.py", "code_helper.py"},
            id="the file beside it that nobody names",
        ),
        pytest.param(
            {
                "flow/workflow.yaml": HEAD + "components: ../shared/parts.py\n" + STEP,
                "shared/parts.py": code("a", "code_near"),
                "shared/code_near.py": "",
                "flow/code_near.py": "",
            },
            {"../shared/parts.py", "../shared/code_near.py"},
            id="a file elsewhere, and what is beside that",
        ),
        pytest.param(
            {
                "flow/workflow.yaml": HEAD + "components: {a: {kind: python, target: 'code_shop.plan:a'}}\n" + STEP,
                "flow/code_shop/__init__.py": "",
                "flow/code_shop/plan.py": code("a", "code_shop.prices", form=PLAIN),
                "flow/code_shop/prices.py": "",
            },
            {"code_shop/__init__.py", "code_shop/plan.py", "code_shop/prices.py"},
            id="a declared function",
        ),
        pytest.param(
            {
                "flow/workflow.yaml": HEAD
                + "components: {r: {kind: reward, terms: {good: 'code_judge:good'}}}\n"
                + "steps: [{name: r, component: r}]\ncontract: {reward: {good: 1.0}}\noutput: {g: steps.r.total}\n",
                "flow/code_judge.py": "import code_scale\n\ndef good() -> float:\n    return 1.0\n",
                "flow/code_scale.py": "",
            },
            {"code_judge.py", "code_scale.py"},
            id="terms of a reward",
        ),
        pytest.param(
            {
                "flow/workflow.yaml": HEAD
                + "steps: [{name: a, component: a}, {name: i, workflow: ../inner/w.yaml}]\noutput: {a: steps.a}\n",
                "flow/components.py": code("a"),
                "inner/w.yaml": "stretto: 1\nname: i\ncomponents: own.py\n"
                "steps: [{name: b, component: b}]\noutput: {b: steps.b}\n",
                "inner/own.py": code("b", "code_deep"),
                "inner/code_deep.py": "",
            },
            {"components.py", "../inner/own.py", "../inner/code_deep.py"},
            id="a workflow inside",
        ),
        pytest.param(
            {
                "flow/workflow.yaml": HEAD
                + "components: {a: {kind: python, target: 'math:sqrt'}}\n"
                + "steps: [{name: a, component: a, input_mapping: {x: input.x}}]\noutput: {a: steps.a}\n",
            },
            set(),
            id="what is installed",
        ),
        pytest.param(
            {
                "flow/workflow.yaml": HEAD
                + "components: {a: {kind: exec, command: [echo, '"
                + "say " * 80
                + ":word'], request: {format: json}, response: {format: json}}}\n"
                + STEP,
            },
            set(),
            id="a long text with a word after a colon",
        ),
    ],
)
def test_it_is_made_of_what_its_files_name_and_what_these_import(
    tmp_path: Path, files: dict[str, str], expected: set[str]
) -> None:
    with loaded(tmp_path, files) as workflow:
        found = workflow.code()
        assert workflow.for_rollouts().code() == workflow.wrapped(lambda each: each, alone=True).code() == found
    assert set(found) == expected
    for name, digest in found.items():
        assert digest == digest_of((tmp_path / "flow" / name).read_bytes())
