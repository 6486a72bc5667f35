"""A path becomes a workflow: where its components, its inner workflows and its store come from."""

from pathlib import Path

import pytest

import stretto
from stretto.components.python.decorator import component_of
from stretto.plan.codes import PlanCode
from stretto.plan.model import CallOp, SubOp
from stretto.record.model import decoded
from stretto.runtime.load import DEFAULT_STORE, STORE_VARIABLE
from stretto.store.sqlite import Store
from stretto.types.enums import Scope
from stretto.types.errors import SpecError
from tests.unit.runtime.conftest import Write

STEP = """
stretto: 1
steps:
  - {name: say, component: say, input_mapping: {text: input.text}}
output: {text: steps.say.text}
"""


def saying(words: str, name: str = "say") -> str:
    """A file with one component."""
    return (
        "import stretto\n"
        f"@stretto.component('{name}', effects='pure', inline=True)\n"
        f"def say(text: str) -> dict[str, str]:\n    return {{'text': '{words} ' + text}}\n"
    )


def calling(file: str, name: str = "inner") -> str:
    """A workflow whose one step is another workflow."""
    return (
        f"stretto: 1\nsteps:\n  - {{name: {name}, workflow: {file}, input_mapping: {{text: input.text}}}}\n"
        f"output: {{text: steps.{name}.text}}\n"
    )


BOTH = """
stretto: 1
steps:
  - {name: say, component: say, input_mapping: {text: input.text}}
  - {name: inner, workflow: in.yaml, input_mapping: {text: steps.say.text}}
output: {text: steps.inner.text}
"""
"""Its component is called by itself and by the workflow inside."""


def answer(workflow: stretto.Workflow) -> object:
    with workflow:
        run = workflow.run_sync({"text": "Ada"})
    assert run.error is None
    return decoded(run.output)["text"]


class TestComponents:
    def test_components_py_beside_the_file_is_read_when_the_file_names_none(self, write: Write) -> None:
        assert answer(stretto.load(write({"w.yaml": STEP, "components.py": saying("Hello")}))) == "Hello Ada"

    def test_components_py_is_left_alone_when_the_file_names_others(self, write: Write) -> None:
        text = STEP.replace("steps:\n", "components: others.py\nsteps:\n", 1)
        files = {"w.yaml": text, "others.py": saying("Hi"), "components.py": "raise RuntimeError('never imported')"}
        assert answer(stretto.load(write(files))) == "Hi Ada"

    def test_without_any_file_of_components_the_missing_one_is_told(self, write: Write) -> None:
        with pytest.raises(SpecError, match="say"):
            stretto.load(write({"w.yaml": STEP}))

    def test_two_components_of_one_name_are_told_at_the_second_with_the_line_of_the_first(self, write: Write) -> None:
        text = STEP.replace(
            "steps:\n", "components:\n  - components.py\n  - say: {kind: memory}\n  - others.py\nsteps:\n", 1
        )
        files = {"w.yaml": text, "components.py": saying("a"), "others.py": saying("b")}
        with pytest.raises(SpecError) as caught:
            stretto.load(write(files))
        assert [(problem.code, problem.line) for problem in caught.value.problems] == [
            (PlanCode.DUPLICATE_COMPONENT, 5),
            (PlanCode.DUPLICATE_COMPONENT, 6),
        ]
        assert "comes from line 4" in str(caught.value.problems[0])

    def test_a_declared_component_finds_its_code_beside_the_file_whatever_the_working_directory_is(
        self, write: Write, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        text = STEP.replace("steps:\n", "components: {say: {kind: python, target: 'shop_code:say'}}\nsteps:\n", 1)
        path = write(
            {"w.yaml": text, "shop_code.py": "def say(text: str) -> dict:\n    return {'text': text.upper()}\n"}
        )
        monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
        assert answer(stretto.load(path)) == "ADA"


class TestStore:
    @pytest.fixture(autouse=True)
    def _here(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.delenv(STORE_VARIABLE, raising=False)

    @pytest.fixture
    def path(self, write: Write) -> Path:
        return write({"w.yaml": STEP, "components.py": saying("Hello")})

    def test_nobody_says_where_so_runs_are_kept_in_the_working_directory(self, path: Path) -> None:
        assert stretto.load(path).store.path == DEFAULT_STORE

    def test_an_environment_variable_says_where(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(STORE_VARIABLE, "elsewhere.db")
        assert stretto.load(path).store.path == Path("elsewhere.db")

    def test_an_empty_variable_says_nothing(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(STORE_VARIABLE, "")
        assert stretto.load(path).store.path == DEFAULT_STORE

    def test_a_path_outweighs_the_variable(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(STORE_VARIABLE, "elsewhere.db")
        assert stretto.load(path, store="here.db").store.path == Path("here.db")

    def test_a_store_is_taken_as_it_is(self, path: Path, store: Store) -> None:
        assert stretto.load(path, store=store).store is store

    def test_loading_makes_no_file(self, path: Path, tmp_path: Path) -> None:
        before = set(tmp_path.iterdir())
        stretto.load(path)
        assert {each for each in tmp_path.iterdir() if each.name != "__pycache__"} == before


class TestSubWorkflows:
    def test_an_inner_workflow_uses_the_outer_ones_components(self, write: Write) -> None:
        files = {"w.yaml": calling("in.yaml"), "in.yaml": STEP, "components.py": saying("Hello")}
        assert answer(stretto.load(write(files))) == "Hello Ada"

    def test_its_own_components_come_first(self, write: Write) -> None:
        inner = STEP.replace("steps:\n", "components: own.py\nsteps:\n", 1)
        files = {
            "w.yaml": calling("in.yaml"),
            "in.yaml": inner,
            "components.py": saying("outer"),
            "own.py": saying("own"),
        }
        assert answer(stretto.load(write(files))) == "own Ada"

    @pytest.mark.parametrize(
        ("files", "chain"),
        [
            ({"w.yaml": calling("w.yaml")}, "w.yaml → w.yaml"),
            ({"w.yaml": calling("a.yaml"), "a.yaml": calling("w.yaml")}, "w.yaml → a.yaml → w.yaml"),
            (
                {"w.yaml": calling("a.yaml"), "a.yaml": calling("b.yaml"), "b.yaml": calling("./a.yaml")},
                "a.yaml → b.yaml → a.yaml",
            ),
        ],
    )
    def test_a_workflow_inside_itself_is_told_with_the_way_round(
        self, write: Write, files: dict[str, str], chain: str
    ) -> None:
        with pytest.raises(SpecError, match=f"is part of itself: {chain}") as caught:
            stretto.load(write(files))
        assert [problem.code for problem in caught.value.problems] == [PlanCode.SUB_WORKFLOW]

    def test_a_file_that_is_not_there_is_told_where_it_is_named(self, write: Write) -> None:
        with pytest.raises(SpecError, match=r"gone\.yaml") as caught:
            stretto.load(write({"w.yaml": calling("gone.yaml")}))
        assert [(Path(problem.file).name, problem.line) for problem in caught.value.problems] == [("w.yaml", 3)]

    def test_a_problem_inside_is_told_at_its_own_place_and_once(self, write: Write) -> None:
        twice = calling("in.yaml").replace(
            "output:", calling("in.yaml", "again").split("steps:\n")[1].split("output")[0] + "output:"
        )
        files = {
            "w.yaml": twice,
            "in.yaml": STEP.replace("component: say", "component: sing"),
            "components.py": saying(""),
        }
        with pytest.raises(SpecError) as caught:
            stretto.load(write(files))
        assert [(Path(problem.file).name, problem.line) for problem in caught.value.problems] == [("in.yaml", 4)]

    def test_a_replaced_component_is_replaced_inside_as_well(self, write: Write) -> None:
        files = {"w.yaml": calling("in.yaml"), "in.yaml": STEP, "other.py": saying("Hello")}
        text = files["w.yaml"].replace("steps:\n", "components: other.py\nsteps:\n", 1)
        inner = STEP.replace("steps:\n", "components: {notes: {kind: memory}}\nsteps:\n", 1)
        workflow = stretto.load(write({**files, "w.yaml": text, "in.yaml": inner}))

        @stretto.component("say", "9.0.0", effects="pure", inline=True)
        def other(text: str) -> dict[str, str]:
            return {"text": f"Bye {text}"}

        found = component_of(other)
        assert found is not None
        assert answer(workflow.with_component(found)) == "Bye Ada"
        assert answer(workflow) == "Hello Ada"

    def test_what_only_an_inner_workflow_brings_is_found_and_replaced_by_its_name(self, write: Write) -> None:
        def bringing(file: str, text: str) -> str:
            return text.replace("steps:\n", f"components: {file}\nsteps:\n", 1)

        files = {
            "w.yaml": bringing("outer.py", calling("middle.yaml")),
            "middle.yaml": calling("in.yaml"),
            "in.yaml": bringing("own.py", STEP),
            "outer.py": saying("x", "unused"),
            "own.py": saying("own"),
        }
        workflow = stretto.load(write(files))
        assert workflow.component("say") is workflow.plan.components["say"]
        assert workflow.component("say@0.0.0") is workflow.component("say")
        with pytest.raises(stretto.UsageError, match=r"has no component 'sing'; it has: say, unused$"):
            workflow.component("sing")

        @stretto.component("say", "9.0.0", effects="pure", inline=True)
        def other(text: str) -> dict[str, str]:
            return {"text": f"Bye {text}"}

        changed = workflow.with_component(other)
        assert changed.component("say@9.0.0") is component_of(other)
        assert [answer(changed), answer(changed.for_rollouts()), answer(workflow)] == ["Bye Ada", "Bye Ada", "own Ada"]

    def test_of_two_of_one_name_the_one_that_is_called_is_meant(self, write: Write) -> None:
        files = {
            "w.yaml": calling("in.yaml"),
            "in.yaml": STEP.replace("steps:\n", "components: own.py\nsteps:\n", 1),
            "components.py": saying("outer"),
            "own.py": saying("own"),
        }
        workflow = stretto.load(write(files))
        assert workflow.component("say") is workflow.plan.components["say"]
        assert answer(workflow.with_component(workflow.component("say"))) == "own Ada"

    def test_an_inner_workflows_own_component_is_made_once_however_often_it_is_compiled(self, write: Write) -> None:
        inner = STEP.replace("steps:\n", "components: own.py\nsteps:\n", 1)
        files = {
            "w.yaml": calling("in.yaml"),
            "in.yaml": inner,
            "components.py": saying("x", "unused"),
            "own.py": saying("own"),
        }
        workflow = stretto.load(write(files))
        again = workflow.with_component(workflow.component("unused"))
        assert again.plan.components["say"] is workflow.plan.components["say"]

    def test_one_file_of_components_is_made_once_for_all_workflows_that_name_it(self, write: Write) -> None:
        files = {"w.yaml": BOTH, "in.yaml": STEP, "components.py": saying("Hello")}
        workflow = stretto.load(write(files))
        outer, inner = workflow.plan.body.ops
        assert isinstance(outer, CallOp)
        assert isinstance(inner, SubOp)
        assert inner.plan.components["say"] is outer.component

    def test_what_is_replaced_or_kept_by_run_is_so_inside_too_where_both_name_its_file(self, write: Write) -> None:
        text = saying("Hello") + "notes = stretto.RecencyMemory('notes')\n"
        with_notes = "  - {name: note, component: notes, input_mapping: {limit: {value: 3}}}\noutput:"
        files = {
            "w.yaml": BOTH.replace("output:", with_notes),
            "in.yaml": STEP.replace("output:", with_notes),
            "components.py": text,
        }

        @stretto.component("say", "9.0.0", effects="pure", inline=True)
        def other(text: str) -> dict[str, str]:
            return {"text": f"Bye {text}"}

        workflow = stretto.load(write(files)).with_component(other).for_rollouts()
        inner = workflow.plan.body.ops[1]
        assert isinstance(inner, SubOp)
        assert inner.plan.components["notes"] is workflow.plan.components["notes"]
        assert workflow.plan.components["notes"].card.scope is Scope.RUN
        assert answer(workflow) == "Bye Bye Ada"


class TestManifest:
    def test_it_pins_what_steps_call_inside_and_out_the_memory_and_what_components_may_call(self, write: Write) -> None:
        text = (
            saying("Hello")
            + "@stretto.component(inline=True)\ndef look(n: int) -> dict[str, int]:\n    return {}\n"
            + "@stretto.component\nasync def asks(text: str, context: stretto.Context) -> dict[str, int]:\n"
            + "    return await context.call('look', n=1)\n"
            + "notes = stretto.RecencyMemory('notes')\n"
        )
        outer = (
            "stretto: 1\nmemory: notes\ncomponents: components.py\nsteps:\n"
            "  - {name: asks, component: asks, input_mapping: {text: input.text}}\n"
            "  - {name: inner, workflow: in.yaml, input_mapping: {text: memory.recent}}\n"
        )
        inner = STEP.replace("component: say", "component: tell").replace("steps:", "components: own.py\nsteps:", 1)
        files = {"w.yaml": outer, "in.yaml": inner, "components.py": text, "own.py": saying("x", "tell")}
        workflow = stretto.load(write(files))
        assert list(workflow.plan.manifest.components) == ["asks", "look", "notes", "say", "tell"]
        assert workflow.plan.manifest.components.keys() == workflow.plan.components.keys()


def test_every_component_that_is_declared_wrongly_is_told(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text("import no_such_module\n")
    (tmp_path / "workflow.yaml").write_text(
        "stretto: 1\nname: odd\ncomponents:\n"
        "  - odd.py\n"
        "  - notes: {kind: memory, limt: 3}\n"
        "  - rules: {kind: exec, command: [x], effects: red, request: {format: json}, response: {format: json}}\n"
        "steps: [{name: far, component: 'acp+http://10.0.0.1:1'}]\n"
    )
    with pytest.raises(SpecError) as caught:
        stretto.load(tmp_path / "workflow.yaml", store=tmp_path / "runs.db")
    told = str(caught.value)
    assert len(caught.value.problems) == 4
    assert all(each in told for each in ("no_such_module", "limt", "`effects` is the text 'red'", "may not be called"))
