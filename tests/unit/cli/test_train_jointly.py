"""`stretto train --mode end-to-end`: networks of a workflow learn together, from the command line."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

import stretto
from stretto.cli.joint_options import COMPONENT_OPTIONS, FROZEN, JOINT_OPTIONS, read_joint_options
from stretto.cli.perturb_options import PERTURB_OPTIONS, read_perturbations
from stretto.learn.adversity.perturbation import Perturbation, Side
from stretto.learn.joint import JointReport, train_jointly
from stretto.learn.joint.options import ComponentOptions, JointOptions
from stretto.types.errors import UsageError
from tests.unit.cli.conftest import Cli
from tests.unit.learn.joint.made import COMPONENTS, WORKFLOW, tasks

SMALL = [f"--set={each}" for each in ("updates=4", "batch_size=8", "evaluate_every=2", "learning_rate=0.05")]
JOINT = ("train", "net", "--mode", "end-to-end", *SMALL)
PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "cli.md").read_text()
PLACE = Path(".stretto/training/ways")


@pytest.fixture
def net(folder: Path) -> Path:
    """A folder beside the usual workflow, with networks and tasks in it."""
    place = folder / "net"
    place.mkdir()
    (place / "components.py").write_text(COMPONENTS)
    (place / "workflow.yaml").write_text(WORKFLOW.replace("ESTIMATOR", ""))
    (place / "tasks.jsonl").write_bytes(b"\n".join(msgspec.json.encode(task) for task in tasks()))
    return place


def test_a_folder_stands_for_its_workflow_and_its_tasks_and_the_best_weights_are_served(cli: Cli, net: Path) -> None:
    told = cli(*JOINT)
    assert told.code == 0, told.err
    assert "update 0 of 4  held out" in told.err
    assert re.search(r"update 4 of 4  reward .* held out .* gradients reader [\d.]+, router [\d.]+", told.err)
    assert "reward of each update (•) and held out (line)" in told.out
    assert (PLACE / "curve.png").read_bytes().startswith(b"\x89PNG")
    [serve] = re.findall(r"^serve them: stretto (.*)$", told.err, re.MULTILINE)
    asked = ["--input", '{"x": [1.0, 0.0, 0.0]}', "--json"]
    served = cli(*shlex.split(serve), *asked).document["run"]
    plain = cli("run", "net", *asked).document["run"]
    apart = {
        name for name, pin in served["manifest"]["components"].items() if plain["manifest"]["components"][name] != pin
    }
    assert apart == {"reader", "router"}


def test_a_training_that_was_stopped_before_it_kept_weights_is_not_served(cli: Cli, net: Path) -> None:
    def stop(report: JointReport) -> None:
        if report.update == 1:
            raise KeyboardInterrupt

    options = JointOptions(batch_size=8, held_out=0.0)
    with stretto.load(net / "workflow.yaml", store=net / "runs.db") as workflow, pytest.raises(KeyboardInterrupt):
        train_jointly(workflow, tasks(), folder=PLACE, options=options, on_update=stop)
    told = cli("run", "net", "--checkpoint", str(PLACE), "--input", '{"x": [1.0, 0.0, 0.0]}')
    assert told.code == 2
    assert "was stopped before it kept weights to serve; go on with it (stretto train --resume)" in told.err


def test_a_run_by_trained_weights_is_explained_by_these_and_others_are_told(cli: Cli, net: Path) -> None:
    assert cli(*JOINT).code == 0
    assert cli("run", "net", "--checkpoint", str(PLACE), "--input", '{"x": [1.0, 0.0, 0.0]}').code == 0
    explain = ("explain", "last", "--workflow", "net")
    by_these = cli(*explain, "--checkpoint", str(PLACE))
    assert "Not as they were" not in by_these.out
    assert "--checkpoint" not in by_these.err
    by_others = cli(*explain)
    assert "Not as they were in the run any more: reader, router." in by_others.out
    assert "give those: --checkpoint reader=PATH --checkpoint router=PATH, or --checkpoint FOLDER" in " ".join(
        by_others.err.split()
    )


def test_a_workflow_of_networks_alone_is_trained_end_to_end_and_says_so(cli: Cli, net: Path) -> None:
    told = cli("train", "net", *SMALL, "--json")
    assert "'ways' has no policy: its PyTorch components learn, as with --mode end-to-end" in told.err
    document = told.document
    assert document["mode"] == "end-to-end"
    assert [each["update"] for each in document["updates"]] == [0, 1, 2, 3, 4]
    assert set(document["checkpoints"]) == {"reader", "router"}
    assert all(Path(path).is_file() for path in document["checkpoints"].values())
    assert len(cli("runs", "list", "--purpose", "train", "--limit", "99", "--json").document["runs"]) == 32
    assert len(cli("runs", "list", "--purpose", "evaluate", "--limit", "99", "--json").document["runs"]) == 27
    lines = (PLACE / "curve.jsonl").read_bytes().splitlines()
    assert [json.loads(line) for line in lines] == document["updates"]


def test_the_command_that_goes_on_has_the_options_that_the_training_was_made_with(cli: Cli, net: Path) -> None:
    own = ("--set=router.optimizer=sgd", "--set=reader.frozen=true", "--set=reuse_pure=true", "--set=patience=null")
    assert cli(*JOINT, *own).code == 0
    told = cli("train", "net", "--mode", "end-to-end", "--set", "roter.frozen=true", "--set=batch_size=9")
    [command] = re.findall(r"^  go on with it: stretto (.*)$", told.err, re.MULTILINE)
    assert "roter" not in command
    assert len(cli(*shlex.split(command), "--json").document["updates"]) == 9


def test_the_command_that_goes_on_makes_the_updates_that_were_asked_for(cli: Cli, net: Path) -> None:
    assert cli(*JOINT).code == 0
    assert "--set updates=8" in cli("train", "net").err
    cli("train", "net", *SMALL[1:3], "--set=updates=20", "--set=patience=1", "--set=learning_rate=1e-9", "--folder=f")
    assert "--set updates=20" in cli("train", "net", "--folder", "f").err


def test_a_workflow_that_is_not_there_is_told_and_not_its_tasks(cli: Cli, net: Path) -> None:
    told = cli("train", "nett")
    assert "nett: there is no such file" in told.err
    told = cli("train", "nett/workflow.yaml", "--mode", "end-to-end")
    assert "nett/workflow.yaml: there is no such file" in told.err


def test_a_run_of_other_weights_than_did_best_is_told_which_those_are(cli: Cli, net: Path) -> None:
    cli(*JOINT)
    first = cli("runs", "list", "--purpose", "evaluate", "--limit", "99", "--json").document["runs"][-1]
    told = cli("explain", first["id"], "--workflow", "net", "--checkpoint", str(PLACE))
    best = json.loads((PLACE / "curve.jsonl").read_bytes().splitlines()[-1])["update"]
    assert f"{PLACE} keeps those that did best, after update {best}" in told.err.replace("\n", " ")


def test_what_surrogates_are_worth_is_told_in_the_end(cli: Cli, net: Path) -> None:
    (net / "workflow.yaml").write_text(WORKFLOW.replace("ESTIMATOR", "estimator: relax,"))
    [surrogate] = cli("train", "net", *SMALL, "--json").document["surrogates"]
    assert (surrogate["step"], surrogate["rows"], surrogate["is_biased"]) == ("router", 32, False)
    assert "surrogate of 'router'" in cli("train", "net", *SMALL, "--resume").out


def test_a_training_with_nothing_left_to_do_says_how_to_go_on(cli: Cli, net: Path) -> None:
    cli(*JOINT)
    told = cli(*JOINT)
    assert told.code == 2
    assert f"{PLACE} holds a training already, 4 updates long" in told.err
    told = cli(*JOINT, "--resume")
    [command] = re.findall(r"^go on with it: stretto (.*)$", told.err, re.MULTILINE)
    assert len(cli(*shlex.split(command), "--json").document["updates"]) == 9
    stuck = ["--folder=stuck", "--set=learning_rate=1e-9", "--set=patience=1", "--set=evaluate_every=1"]
    assert cli("train", "net", "--set=batch_size=8", *stuck).code == 0
    told = cli("train", "net", "--set=batch_size=8", *stuck, "--resume")
    assert "the training in stuck ended after 1 evaluation without a better one" in told.err
    assert "--set patience=2" in told.err


def test_a_training_that_a_bug_stopped_goes_on_once_that_is_mended(cli: Cli, net: Path) -> None:
    components = net / "components.py"
    bug = '    import pathlib\n    if pathlib.Path("odd").exists():\n        raise ValueError("a bug")\n'
    components.write_text(COMPONENTS.replace("    worth = {", f"{bug}    worth = {{"))
    assert cli(*JOINT).code == 0
    odd = net.parent / "odd"
    odd.touch()
    on = (*JOINT[:-4], *SMALL[1:], "--set=updates=6", "--resume")
    told = cli(*on)
    assert told.code == 1
    assert "ValueError: a bug\n  Component 'right' raised it at step 'right' (components.py:" in told.err
    assert "bug in stretto" not in told.err
    components.write_text(COMPONENTS)
    told = cli(*on)
    what = "component 'right' is another, the code in components.py is another"
    assert f"cannot be resumed: {what}. Give the same, go on with the other code by --changed-code" in told.err
    told = cli(*on, "--changed-code")
    assert told.code == 0, told.err
    assert re.search(r"^update 5 of 6 .*  with the changed code$", told.err, re.MULTILINE)
    assert told.err.count("with the changed code") == 1
    lines = [json.loads(line) for line in (PLACE / "curve.jsonl").read_bytes().splitlines()]
    assert {each["update"]: each["changed_code"] for each in lines if each["changed_code"]} == {5: what.split(", ")}


def test_ctrl_c_tells_what_stands_and_how_to_go_on(cli: Cli, net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli(*JOINT)

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("stretto.learn.joint.update.Updating.make", stopped)
    told = cli(*JOINT[:-4], *SMALL[1:], "--set=updates=9", "--resume")
    assert told.code == 130
    assert f"stopped by Ctrl-C with 4 updates made; --resume goes on with the training in {PLACE}" in told.err


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (
            ["--set", "group_size=2"],
            "--set group_size is an option of --mode policy and has no effect with --mode end-to",
        ),
        (["--set", "updtes=3"], "training has no such option; did you mean 'updates'?"),
        (["--set", "router.frozn=true"], "a component has no such option; its options are optimizer, learning_rate"),
        (["--set", "router.updates=3"], "updates is of the whole training and of no component"),
        (
            ["--set", "rooter.frozen=true"],
            "no differentiable component 'rooter'; did you mean 'router'? it has: reader",
        ),
        (["--set", "router.frozen=yes"], "--set router.frozen=yes: expected one of true, false"),
        (["--set", "router.learning-rate=x"], "--set router.learning_rate=x: expected a number, such as 0.01"),
        (["--set", "learning_rate=-1"], "learning_rate is -1.0; expected a number above 0"),
        (["--set", "precision=float16"], "did you mean 'bfloat16'? expected one of float32, bfloat16"),
        (["--set", "batch_size=99"], "batch_size is 99, but there are 31 tasks to learn from, with 9 held out beside"),
        (["--set", "right.frozen=true"], "right.frozen has no effect: component 'right' has no parameters"),
        (["--set", "reader.frozen=true", "--set", "router.frozen=true"], "nothing of workflow 'ways' is left to learn"),
        (["--component", "router"], "--component has no effect with --mode end-to-end"),
        (["--concurrency", "2"], "--concurrency has no effect with --mode end-to-end"),
        (["--resume"], "ways holds no training to go on with; leave out `resume` to begin one there"),
    ],
)
def test_wrong_usage_trains_nothing(cli: Cli, net: Path, flags: list[str], says: str) -> None:
    few = [] if any("batch_size" in flag for flag in flags) else ["--set=batch_size=8"]
    told = cli("train", "net", "--mode", "end-to-end", *few, *flags)
    assert told.code == 2
    assert says in told.err
    assert not PLACE.exists()


def test_the_other_mode_names_the_options_of_this_one(cli: Cli, net: Path) -> None:
    told = cli("train", "net", "--mode", "policy", "--set", "router.learning_rate=0.1")
    assert (
        "--set router.learning_rate is an option of --mode end-to-end and has no effect with --mode policy" in told.err
    )
    told = cli("train", "net", "--mode", "policy")
    assert told.code == 2
    assert "PyTorch components that learn together with --mode end-to-end: reader, router" in told.err
    (net / "tasks.jsonl").rename(net / "points.jsonl")
    told = cli("train", "net")
    assert f"there is no {Path('net/tasks.jsonl')}; name a file of tasks" in told.err
    (net / "README.md").write_text("Make tasks.jsonl so: ...")
    assert "net/README.md says how to make it, or name a file of tasks" in cli("train", "net").err


def test_a_workflow_without_networks_cannot_be_trained_end_to_end(cli: Cli, folder: Path) -> None:
    (folder / "tasks.jsonl").write_text(json.dumps({"name": "a", "input": {"query": "x"}}))
    told = cli("train", "--mode", "end-to-end", "--set=batch_size=1", "--set=held_out=0")
    assert told.code == 2
    assert "'trip' has no differentiable component; declare one with @stretto.differentiable" in told.err


def test_every_option_of_a_joint_training_is_documented_as_its_type_declares_it(cli: Cli) -> None:
    section = PAGE.partition("## `stretto train`")[2].partition("\n## ")[0]
    told = " ".join(cli("train", "--help").out.split())
    for option in JOINT_OPTIONS.values():
        choices = f": {', '.join(f'`{choice}`' for choice in option.choices)}" if option.choices else ""
        assert f"| `{option.name}` | `{option.written}` | {option.means}{choices} |\n" in section
        assert f"{option.name}={option.written} {option.means}" in told
    assert [*JOINT_OPTIONS, "components"] == list(JointOptions.__struct_fields__)
    assert list(COMPONENT_OPTIONS) == list(ComponentOptions.__struct_fields__)
    assert f"COMPONENT.{FROZEN.name}=" in told
    for option in PERTURB_OPTIONS.values():
        choices = f": {', '.join(f'`{choice}`' for choice in option.choices)}" if option.choices else ""
        assert f"| `COMPONENT.{option.name}` | `{option.written}` | {option.means}{choices} |\n" in section
        assert f"COMPONENT.{option.name}={option.written} {option.means}" in told


def test_what_is_done_to_a_component_is_typed_beside_its_options() -> None:
    given = ["router.perturb_share=0.5", "router.perturb_worse=a.safetensors,b.safetensors", "reader.perturb-noise=0.1"]
    given += ["router.learning_rate=0.1", "reader.perturb_noise_on=inputs"]
    assert read_perturbations(given) == {
        "router": Perturbation(share=0.5, worse=("a.safetensors", "b.safetensors")),
        "reader": Perturbation(noise=0.1, noise_on=Side.INPUTS),
    }
    assert read_joint_options(given) == JointOptions(components={"router": ComponentOptions(learning_rate=0.1)})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["router.perturb_noise=much"], "--set router.perturb_noise=much: expected a number, such as 0.0"),
        (["router.perturb_share=0.5"], "a perturbation does nothing; give it `noise`, `worse` or `random`"),
        (["router.perturb_share=2", "router.perturb_random=true"], "share of perturbed runs is 2.0"),
        (["router.perturb_noise_on=inputs", "router.perturb_random=true"], "has no effect without `noise`"),
    ],
)
def test_a_perturbation_that_is_none_is_refused(given: list[str], told: str) -> None:
    with pytest.raises(UsageError, match=re.escape(told)):
        read_perturbations(given)


def test_a_training_tells_how_many_runs_were_perturbed(cli: Cli, net: Path) -> None:  # the folder is there
    told = cli(*JOINT, "--set=router.perturb_random=true", "--set=router.perturb_share=1", "--json")
    assert told.code == 0, told.err
    assert "perturbed 8" in told.err
    assert [each["perturbed"] for each in told.document["updates"]] == [0, 8, 8, 8, 8]


@pytest.mark.parametrize("name", JOINT_OPTIONS)
def test_an_options_default_may_be_typed(name: str) -> None:
    assert getattr(read_joint_options([f"{name}={JOINT_OPTIONS[name].written}"]), name) == JOINT_OPTIONS[name].default


@pytest.mark.ci
def test_a_training_that_is_killed_at_any_moment_resumes_to_the_same_bits(net: Path, tmp_path: Path) -> None:
    """SIGKILL, four times, wherever it happens to be: in an update, an evaluation or a save."""
    flags = ["--set=updates=60", "--set=batch_size=8", "--set=evaluate_every=3", "--set=patience=null"]
    command = [sys.executable, "-m", "stretto", "train", "net", "--mode", "end-to-end", *flags]
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([*command, "--folder", "whole"], cwd=tmp_path, env=alone, check=True, capture_output=True)
    for kill in range(4):
        again = ["--resume"] if (tmp_path / "parts" / "state.safetensors").exists() else []
        with subprocess.Popen(
            [*command, "--folder", "parts", *again], cwd=tmp_path, env=alone, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            for _ in range(4):  # some updates further
                process.stderr.readline()
            time.sleep(kill * 0.007)  # into the next one, each time elsewhere
            process.send_signal(signal.SIGKILL)
    subprocess.run(
        [*command, "--folder", "parts", "--resume"], cwd=tmp_path, env=alone, check=True, capture_output=True
    )
    for name in ("state.safetensors", "curve.jsonl"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "parts" / name).read_bytes()
    found = [sorted(path.name for path in (tmp_path / place).rglob("weights/*/*")) for place in ("whole", "parts")]
    assert found[0] == found[1]
    assert not list((tmp_path / "parts").rglob("*.part"))
