"""A joint training that was stopped, wherever, goes on to the numbers of one that never was."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from stretto.components.tensor_file import read_tensors, write_tensors
from stretto.learn import Perturbation
from stretto.learn.joint import ComponentOptions, JointOptions, JointReport, train_jointly
from stretto.learn.joint.options import Optimizer, Precision
from stretto.learn.joint.progress import JointFolder
from stretto.types.errors import StoreError, UsageError
from tests.unit.learn.joint.made import COMPONENTS, SMALL, tasks, trained, workflow

KEPT = ("state.safetensors", "curve.jsonl")


def same(folder: Path, one: str, other: str) -> bool:
    """Whether two trainings have come to the same state, byte for byte, and keep the same weights."""
    weights = [sorted(path.name for path in (folder / place).rglob("weights/*/*")) for place in (one, other)]
    files = [[(folder / place / name).read_bytes() for name in KEPT] for place in (one, other)]
    return weights[0] == weights[1] and files[0] == files[1]


@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        ("score", {}),
        ("enumerate", {"optimizer": Optimizer.ADAMW, "weight_decay": 0.1}),
        ("gumbel", {"optimizer": Optimizer.SGD, "momentum": 0.9}),
        ("straight-through", {"precision": Precision.BFLOAT16}),
        ("relax", {"batch_size": 16}),
        ("score", {"components": {"router": ComponentOptions(optimizer=Optimizer.SGD, clip_norm=None)}}),
    ],
)
def test_a_resumed_training_comes_to_the_same_numbers_to_the_last_bit(
    tmp_path: Path, estimator: str, options: dict[str, Any]
) -> None:
    workflow(tmp_path, estimator=estimator)
    whole = trained(tmp_path, place="whole", **{**options, "updates": 8})
    trained(tmp_path, place="parts", **{**options, "updates": 4})
    resumed = trained(tmp_path, place="parts", resume=True, **{**options, "updates": 8})
    assert resumed.reports == whole.reports
    assert resumed.best == whole.best
    assert same(tmp_path, "whole", "parts")


@pytest.mark.parametrize("patience", [None, 1])
def test_an_evaluation_that_the_end_alone_asked_for_is_forgotten_by_a_training_that_goes_on(
    tmp_path: Path, patience: int | None
) -> None:
    workflow(tmp_path)
    options: dict[str, Any] = {"evaluate_every": 4, "patience": patience}
    trained(tmp_path, place="whole", **options, updates=9)
    first = trained(tmp_path, place="parts", **options, updates=3)
    assert first.reports[-1].held_out is not None
    second = trained(tmp_path, place="parts", **options, updates=5, resume=True)
    assert [report.update for report in second.reports if report.held_out is not None] == [0, 4, 5]
    trained(tmp_path, place="parts", **options, updates=9, resume=True)
    assert same(tmp_path, "whole", "parts")


class Killed(BaseException):
    """As a kill would, it ends everything; unlike a kill, it lets a test go on."""


def test_a_training_that_is_killed_at_any_write_goes_on_to_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow(tmp_path)
    sync, writes = os.fsync, [0]

    def counted(descriptor: int) -> None:
        writes[0] += 1
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", counted)
    trained(tmp_path, place="whole")
    everything = writes[0]
    assert everything > 20
    for number in range(1, everything + 1, 3):
        place = f"killed {number}"
        monkeypatch.setattr(os, "fsync", _killing(sync, number))
        with pytest.raises(Killed):
            trained(tmp_path, place=place)
        monkeypatch.setattr(os, "fsync", sync)
        (tmp_path / place / ".state.safetensors.1.part").write_bytes(b"half a st")  # as a kill would leave it
        begun = (tmp_path / place / "state.safetensors").exists()
        trained(tmp_path, place=place, resume=begun)
        assert same(tmp_path, "whole", place), number
        assert not list((tmp_path / place).rglob(".*.part"))


def _killing(sync: Callable[[int], None], number: int) -> Callable[[int], None]:
    left = [number]

    def killing(descriptor: int) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise Killed
        sync(descriptor)

    return killing


def test_fewer_checkpoints_lose_updates_and_no_numbers(tmp_path: Path) -> None:
    loaded, folder = workflow(tmp_path), tmp_path / "parts"
    options = JointOptions(**{**SMALL, "checkpoint_every": 4, "updates": 8})
    seen: list[int] = []

    def stop(report: JointReport) -> None:
        seen.append(report.update)
        if report.update == 7:
            raise Killed

    for resume in (False, True):
        with pytest.raises(Killed):
            train_jointly(loaded, tasks(), folder=folder, options=options, on_update=stop, resume=resume)
    assert seen == [0, 1, 2, 3, 4, 5, 6, 7, 5, 6, 7]
    train_jointly(loaded, tasks(), folder=folder, options=options, resume=True)
    train_jointly(loaded, tasks(), folder=tmp_path / "whole", options=options)
    assert same(tmp_path, "whole", "parts")


def test_a_folder_goes_on_with_its_own_training_only(tmp_path: Path) -> None:
    workflow(tmp_path)
    with pytest.raises(UsageError, match="holds no training to go on with"):
        trained(tmp_path, resume=True)
    trained(tmp_path, updates=1)
    with pytest.raises(UsageError, match="holds a training already, 1 update long"):
        trained(tmp_path)
    what = (
        "learning_rate was 0.05 and is now 0.1, router.frozen was not set and is now true, the tasks are others. Give"
    )
    with pytest.raises(UsageError, match=f"cannot be resumed: {what}"):
        trained(
            tmp_path, tasks(41), resume=True, learning_rate=0.1, components={"router": ComponentOptions(frozen=True)}
        )
    workflow(tmp_path, estimator="enumerate")
    with pytest.raises(UsageError, match="the workflow's file or contract is another"):
        trained(tmp_path, resume=True)


HELPED = COMPONENTS.replace("torch.tanh(self.net(x))", "torch.tanh(helper.scaled(self.net(x)))").replace(
    "import stretto\n",
    "import stretto\nimport helper\n\ntry:\n    import extra\nexcept ImportError:\n    extra = None\n",
)

BESIDE = {
    "helper.py": "from far import FACTOR\n\n\ndef scaled(x):\n    return FACTOR * x\n",
    "far.py": "FACTOR = 1.0\n",
    "extra.py": "",
    "notes.txt": "as it was",
    "script.py": "import stretto\n",
}
"""Files beside the components: two that they come to, one that may be missing, one of data, one that nobody imports."""


def put(folder: Path, files: Mapping[str, str | None]) -> None:
    """Write files, or delete them, as happens between two processes: nothing of them stays imported."""
    for name, text in files.items():
        if text is None:
            (folder / name).unlink()
        else:
            (folder / name).write_text(text)
        sys.modules.pop(Path(name).stem, None)


@pytest.fixture
def helped(tmp_path: Path) -> Iterator[Path]:
    """A training of one update, whose components import what is beside them."""
    put(tmp_path, BESIDE)
    workflow(tmp_path, components=HELPED)
    trained(tmp_path, updates=1)
    yield tmp_path
    put(tmp_path, BESIDE)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"helper.py": BESIDE["helper.py"].replace("* x", "* x + 1")}, "the code in helper.py is another. Give"),
        ({"far.py": "FACTOR = 2.0\n"}, "the code in far.py is another. Give"),
        (
            {"far.py": "FACTOR = 2.0\n", "extra.py": "N = 1"},
            "the code in extra.py is another, the code in far.py is an",
        ),
        ({"extra.py": None}, "the code in extra.py is no longer there, or not imported. Give"),
        ({"components.py": HELPED + "\n\nN = 1\n"}, "the code in components.py is another. Give"),
        (
            {"components.py": HELPED.replace("self.net(x)", "self.net(-x)")},
            "component 'reader' is another, the code in components.py is another. Give",
        ),
        (
            {"far.py": "from further import FACTOR\n", "further.py": "FACTOR = 1.0\n"},
            "the code in far.py is another, the code in further.py is new. Give",
        ),
    ],
)
def test_a_training_does_not_go_on_with_other_code_than_it_began_with(
    helped: Path, changes: dict[str, str | None], expected: str
) -> None:
    put(helped, changes)
    with pytest.raises(UsageError) as refused:
        trained(helped, updates=2, resume=True)
    assert f"cannot be resumed: {expected}" in str(refused.value)
    put(helped, {**BESIDE, "components.py": HELPED})
    trained(helped, updates=2, resume=True)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="nothing"),
        pytest.param(BESIDE, id="the same, written again"),
        pytest.param({"notes.txt": "otherwise"}, id="no Python"),
        pytest.param({"script.py": "import helper\n"}, id="what nobody imports"),
        pytest.param({"another.py": "N = 1\n"}, id="one that is new and nobody imports"),
    ],
)
def test_what_components_do_not_import_may_change(helped: Path, changes: dict[str, str | None]) -> None:
    put(helped, changes)
    trained(helped, updates=2, resume=True)
    trained(helped, updates=2, place="whole")
    assert same(helped, "training", "whole")


def test_a_training_of_an_older_release_goes_on_and_holds_its_code_from_then_on(helped: Path) -> None:
    state = helped / "training" / "state.safetensors"
    arrays, header = read_tensors(state)
    older = {key: value for key, value in json.loads(header).items() if key != "code"}
    write_tensors(state, arrays, json.dumps(older).encode())
    trained(helped, updates=2, resume=True)
    put(helped, {"far.py": "FACTOR = 2.0\n"})
    with pytest.raises(UsageError, match=r"the code in far\.py is another"):
        trained(helped, updates=3, resume=True)


def test_a_training_goes_on_under_the_perturbations_that_it_began_with(tmp_path: Path) -> None:
    loaded, folder = workflow(tmp_path), tmp_path / "training"
    noise = {"reader": Perturbation(noise=0.5, share=0.5)}
    short, long = JointOptions(**{**SMALL, "updates": 2}), JointOptions(**{**SMALL, "updates": 4})
    first = train_jointly(loaded, tasks(), folder=folder, options=short, perturb=noise)
    assert 0 < first.reports[1].perturbed < 8
    with pytest.raises(
        UsageError, match=r"what perturbs 'reader' was share 0.5; noise 0.5 on outputs and is now nothing"
    ):
        train_jointly(loaded, tasks(), folder=folder, options=long, resume=True)
    train_jointly(loaded, tasks(), folder=folder, options=long, resume=True, perturb=noise)
    train_jointly(loaded, tasks(), folder=tmp_path / "whole", options=long, perturb=noise)
    assert same(tmp_path, "training", "whole")


def test_a_state_that_is_none_or_has_lost_its_curve_is_told(tmp_path: Path) -> None:
    workflow(tmp_path)
    trained(tmp_path, updates=2)
    folder = tmp_path / "training"
    (folder / "curve.jsonl").write_bytes(b"")
    with pytest.raises(StoreError, match="holds 0 reports, and the training in its folder has made 3"):
        trained(tmp_path, updates=3, resume=True)
    (folder / "curve.jsonl").write_bytes(b"nonsense\n" * 3)
    with pytest.raises(StoreError, match="is no learning curve"):
        trained(tmp_path, updates=3, resume=True)
    (folder / "state.safetensors").write_bytes(b"nonsense")
    with pytest.raises(StoreError, match="is not a whole safetensors file"):
        trained(tmp_path, updates=3, resume=True)


def test_a_state_of_which_a_number_was_changed_is_told_and_not_gone_on_from(tmp_path: Path) -> None:
    workflow(tmp_path)
    trained(tmp_path, updates=2)
    state = tmp_path / "training" / "state.safetensors"
    arrays, header = read_tensors(state)
    for name in ("weights/router/net.bias", "optimizer/router/net.bias/exp_avg"):
        write_tensors(state, {**arrays, name: arrays[name] + 1e-3}, header)
        with pytest.raises(StoreError, match="are not those that the training kept: the file was changed or damaged"):
            trained(tmp_path, updates=3, resume=True)
        write_tensors(state, {key: each for key, each in arrays.items() if key != name}, header)
        with pytest.raises(StoreError, match="are not those that the training kept"):
            trained(tmp_path, updates=3, resume=True)
    write_tensors(state, arrays, header)
    trained(tmp_path, updates=3, resume=True)


def test_weights_that_have_gone_are_told_before_a_training_goes_on_and_not_at_its_end(tmp_path: Path) -> None:
    workflow(tmp_path)
    best = trained(tmp_path, updates=2).checkpoints["router"]
    best.unlink()
    with pytest.raises(StoreError, match="the best weights of component 'router' are not at"):
        trained(tmp_path, updates=4, resume=True)
    assert JointFolder(tmp_path / "training").progress().update == 2


def test_a_rule_that_draws_is_asked_in_each_pass_so_that_a_resumed_training_meets_the_same(tmp_path: Path) -> None:
    drawing = (
        COMPONENTS
        + """

@stretto.component("muddle", effects="pure", inline=True)
def muddle(way: str, context: stretto.Context) -> dict[str, str]:
    return {"way": context.rng.choice(["left", "right"]) if context.rng.random() < 0.5 else way}
"""
    )
    workflow(tmp_path, components=drawing)
    file = tmp_path / "workflow.yaml"
    step = '  - { name: muddle, component: muddle, input_mapping: { way: "steps.router.way" } }\n  - { name: right,'
    text = (
        file.read_text()
        .replace("  - { name: right,", step)
        .replace('{ way: "steps.router.way" } }\noutput', '{ way: "steps.muddle.way" } }\noutput')
    )
    file.write_text(text)
    trained(tmp_path, place="whole", updates=8, reuse_pure=True)
    trained(tmp_path, place="parts", updates=5, reuse_pure=True)
    trained(tmp_path, place="parts", updates=8, reuse_pure=True, resume=True)
    assert same(tmp_path, "whole", "parts")
