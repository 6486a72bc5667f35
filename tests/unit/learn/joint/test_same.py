"""A joint training whose code was changed goes on when that is asked for, tells of it, and of nothing else."""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stretto
from stretto.components.tensor_file import read_tensors, write_tensors
from stretto.learn.joint import ComponentOptions, JointOptions, JointReport, train_jointly
from stretto.learn.joint.progress import JointFolder
from stretto.types.errors import UsageError
from tests.unit.learn.joint.made import COMPONENTS, SMALL, WORKFLOW, tasks, trained, workflow

Change = Callable[[str], str]


def commented(text: str) -> str:
    return f"# a remark\n{text}"


def mended(text: str) -> str:
    return text.replace("self.net(x))", "self.net(2 * x))")


def added(text: str) -> str:
    return f"{text}\n\nN = 1\n"


FILE = "the code in components.py is another"
READER = "component 'reader' is another"


def changed(folder: Path, change: Change) -> None:
    """Change the components as they are there."""
    file = folder / "components.py"
    file.write_text(change(file.read_text()))


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """A training of two updates."""
    workflow(tmp_path)
    trained(tmp_path, updates=2)
    return tmp_path


@pytest.mark.parametrize(
    ("change", "expected"), [(commented, (FILE,)), (mended, (READER, FILE))], ids=["a comment", "a component"]
)
def test_changed_code_is_taken_and_told_of_the_first_update_with_it(
    begun: Path, caplog: pytest.LogCaptureFixture, change: Change, expected: tuple[str, ...]
) -> None:
    changed(begun, change)
    with pytest.raises(UsageError) as refused:
        trained(begun, updates=4, resume=True)
    remedy = "Give the same, go on with the other code by --changed-code (changed_code=True), or train in another"
    assert f"cannot be resumed: {', '.join(expected)}. {remedy}" in str(refused.value)
    with caplog.at_level(logging.WARNING):
        result = trained(begun, updates=4, resume=True, changed_code=True)
    told = f"goes on with changed code from update 3 on: {', '.join(expected)}"
    assert [told in record.message for record in caplog.records] == [True]
    assert {each.update: each.changed_code for each in result.reports if each.changed_code} == {3: expected}
    trained(begun, updates=6, resume=True)  # what was taken is held
    changed(begun, added)
    with pytest.raises(UsageError, match=r"the code in components\.py is another"):
        trained(begun, updates=8, resume=True)


def test_code_may_be_changed_again_and_again(begun: Path) -> None:
    for updates, change in ((3, commented), (4, mended)):
        changed(begun, change)
        result = trained(begun, updates=updates, resume=True, changed_code=True)
    found = {each.update: each.changed_code for each in result.reports if each.changed_code}
    assert found == {3: (FILE,), 4: (READER, FILE)}


@pytest.mark.parametrize("change", [commented, mended], ids=["a comment", "a component"])
def test_numbers_are_others_by_a_component_and_not_by_a_comment(begun: Path, change: Change) -> None:
    changed(begun, change)
    other = trained(begun, updates=4, resume=True, changed_code=True)
    workflow(begun)
    whole = trained(begun, updates=4, place="whole")
    same = [one.gradients == two.gradients for one, two in zip(other.reports, whole.reports, strict=True)]
    assert same == [True, True, True, *([change is commented] * 2)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "changed_code has no effect without resume: a training that begins holds the code that is there; leave"),
        (
            {"resume": True},
            "--changed-code (changed_code=True) has no effect: no code has changed that the training in",
        ),
        ({"changed_code": 1}, "changed_code is 1; expected True or False"),
    ],
)
def test_without_effect_it_is_refused(begun: Path, given: dict[str, Any], expected: str) -> None:
    with pytest.raises(UsageError) as refused:
        trained(begun, updates=4, **{"changed_code": True, **given})
    assert expected in str(refused.value)


@pytest.mark.parametrize("is_asked", [True, False])
def test_options_and_tasks_are_not_taken_with_the_code(begun: Path, is_asked: bool) -> None:
    changed(begun, mended)
    given: dict[str, Any] = {"learning_rate": 0.1, "components": {"router": ComponentOptions(frozen=True)}}
    with pytest.raises(UsageError) as refused:
        trained(begun, tasks(41), updates=4, resume=True, changed_code=is_asked, **given)
    what = "learning_rate was 0.05 and is now 0.1, router.frozen was not set and is now true, the tasks are others"
    expected = (
        f"{what}. --changed-code (changed_code=True) takes code alone: give the rest as it was, or"
        if is_asked
        else f"{what}, {READER}, {FILE}. Give the same, but for the code, which --changed-code (changed_code=True)"
    )
    assert f"cannot be resumed: {expected}" in str(refused.value)


def test_a_workflow_is_not_taken_with_the_code(begun: Path) -> None:
    workflow(begun, estimator="enumerate")
    changed(begun, commented)
    with pytest.raises(UsageError, match=r"resumed: the workflow's file or contract is another\. --changed-code"):
        trained(begun, updates=4, resume=True, changed_code=True)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            lambda text: text.replace("nn.Linear(3, 4)", "nn.Linear(3, 4, bias=False)"),
            "the weights 'net.0.bias' of component 'reader' were [4] and are now not among those that learn",
        ),
        (
            lambda text: text.replace(
                "self.net = nn.Linear(4, 2)", "self.net = nn.Linear(4, 2)\n        self.more = nn.Linear(4, 2)"
            ),
            "the weights 'more.bias' of component 'router' were not among those that learn and are now [2]",
        ),
    ],
    ids=["fewer", "more"],
)
def test_weights_that_do_not_fit_the_code_are_told(begun: Path, change: Change, expected: str) -> None:
    changed(begun, change)
    with pytest.raises(UsageError) as refused:
        trained(begun, updates=4, resume=True, changed_code=True)
    assert f"cannot go on with the changed code, which its weights do not fit: {expected}. Give" in str(refused.value)
    workflow(begun)
    trained(begun, updates=4, resume=True)


def test_weights_that_mean_something_else_by_the_code_are_told(tmp_path: Path) -> None:
    scaled = COMPONENTS.replace(
        "    def forward(self, x:",
        "    def learnt_with(self):\n        return {'alpha': 2}\n\n    def forward(self, x:",
    )
    workflow(tmp_path, components=scaled)
    trained(tmp_path, updates=2)
    changed(tmp_path, lambda text: text.replace("'alpha': 2", "'alpha': 3"))
    with pytest.raises(UsageError, match="was learnt with alpha 2, and component 'reader' has alpha 3"):
        trained(tmp_path, updates=4, resume=True, changed_code=True)


def test_frozen_weights_are_not_taken_with_the_code(tmp_path: Path) -> None:
    workflow(tmp_path)
    frozen: dict[str, Any] = {"components": {"router": ComponentOptions(frozen=True)}}
    trained(tmp_path, updates=2, **frozen)
    changed(tmp_path, lambda text: text.replace("seed=1", "seed=2"))
    with pytest.raises(UsageError, match=r"resumed: component 'router' is another \(frozen weights\)\. --changed-code"):
        trained(tmp_path, updates=4, resume=True, changed_code=True, **frozen)


def test_a_training_of_an_older_release_takes_a_changed_component(begun: Path) -> None:
    state = begun / "training" / "state.safetensors"
    arrays, header = read_tensors(state)
    newer = ("code", "files", "beside_code", "learnt_with", "changed_code")
    older = {key: value for key, value in json.loads(header).items() if key not in newer}
    write_tensors(state, arrays, json.dumps(older).encode())
    changed(begun, mended)
    result = trained(begun, updates=4, resume=True, changed_code=True)
    assert result.reports[3].changed_code == (READER,)


def test_an_evaluation_by_other_code_is_no_measure_of_what_comes(begun: Path) -> None:
    before = JointFolder(begun / "training").progress().best
    assert before is not None
    assert before.update == 2
    changed(begun, lambda text: text.replace("return (way * torch", "return (-100 * way * torch"))
    result = trained(begun, updates=4, resume=True, changed_code=True)
    assert (result.best.update, result.best.is_outdated) == (4, False)
    assert result.best.reward_mean is not None
    assert result.best.reward_mean < (before.reward_mean or 0.0) - 10


def test_it_is_none_either_where_the_training_is_stopped_before_the_next(tmp_path: Path) -> None:
    workflow(tmp_path, estimator="relax")
    seldom: dict[str, Any] = {"evaluate_every": 10}
    trained(tmp_path, updates=2, **seldom)
    changed(tmp_path, lambda text: text.replace("return (way * torch", "return (-100 * way * torch"))

    def stop(report: JointReport) -> None:
        raise KeyboardInterrupt

    options = JointOptions(**{**SMALL, **seldom, "updates": 5})
    with stretto.load(tmp_path / "workflow.yaml", store=tmp_path / "runs.db") as loaded:
        folder = tmp_path / "training"
        with pytest.raises(KeyboardInterrupt):
            train_jointly(
                loaded, tasks(), folder=folder, options=options, resume=True, changed_code=True, on_update=stop
            )
    kept = JointFolder(folder)
    best = kept.progress().best
    assert best is not None
    assert best.is_outdated
    assert all(path.is_file() for path in kept.checkpoints(best.weights).values())
    result = trained(tmp_path, updates=5, resume=True, **seldom)
    assert (result.best.update, result.best.is_outdated) == (5, False)
    assert [report.update for report in result.reports if report.changed_code] == [3]


def test_where_nothing_is_left_to_do_nothing_is_taken(begun: Path, caplog: pytest.LogCaptureFixture) -> None:
    changed(begun, mended)
    with caplog.at_level(logging.WARNING):
        assert len(trained(begun, updates=2, resume=True, changed_code=True).reports) == 3
    assert not caplog.records
    with pytest.raises(UsageError, match="component 'reader' is another"):
        trained(begun, updates=4, resume=True)


def test_code_of_a_workflow_inside_is_code_and_no_file(tmp_path: Path) -> None:
    head, _, steps = WORKFLOW.replace("ESTIMATOR", "").partition("steps:\n")
    lines = steps.splitlines()
    inner = tmp_path / "inner"
    inner.mkdir()
    reader, rest = COMPONENTS.partition('@stretto.differentiable("router"')[::2]
    (inner / "components.py").write_text(reader)
    (inner / "workflow.yaml").write_text(
        "stretto: 1\nname: inside\ncomponents: components.py\n"
        f'contract: {{ input: {{ x: "array[float][3,3]" }} }}\nsteps:\n{lines[0]}\n'
        'output: { state: "steps.reader.state" }\n'
    )
    imports = reader.partition("class Read(")[0]
    (tmp_path / "components.py").write_text(f'{imports}\n\n@stretto.differentiable("router"{rest}')
    text = "\n".join(
        ['  - { name: reader, workflow: inner/workflow.yaml, input_mapping: { x: "input.x" } }', *lines[1:]]
    )
    (tmp_path / "workflow.yaml").write_text(f"{head}steps:\n{text}\n")
    trained(tmp_path, updates=2)
    changed(inner, mended)
    with pytest.raises(UsageError, match=rf"resumed: {READER}, the code in inner/components\.py is another\. Give"):
        trained(tmp_path, updates=4, resume=True)
    trained(tmp_path, updates=4, resume=True, changed_code=True)
