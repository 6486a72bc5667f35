"""Which domains hold in what a step answers."""

from pathlib import Path

import stretto
from stretto.chaos.domains import Domains
from stretto.store.sqlite import Store
from tests.unit.chaos.conftest import workflow_of

INNER = """
stretto: 1
name: inner
contract: {input: {text: string}, semantics: {mood: {values: [glad, cross], at: [says.mood]}}}
steps: [{name: says, component: says, input_mapping: {text: "input.text"}}]
output: {mood: "steps.says.mood"}
"""

WORKFLOW = """
stretto: 1
name: outer
contract:
  input: {text: string}
  semantics:
    here: {values: [a, b], at: [says.output.mood, takes.mood, loop_says.mood]}
    there: {values: [b, c], at: [input.text]}
    unseen: {values: [x, y], at: [other.mood], mode: "off"}
steps:
  - {name: says, component: says, input_mapping: {text: "input.text"}}
  - {name: other, component: says, input_mapping: {text: "input.text"}}
  - {name: takes, component: takes, input_mapping: {mood: "steps.says.mood"}}
  - {name: sub, workflow: inner.yaml, input_mapping: {text: "input.text"}}
  - name: loop
    repeat:
      max_rounds: 2
      steps: [{name: loop_says, component: says, input_mapping: {text: "input.text"}}]
"""


@stretto.component("says", effects="pure")
async def says(text: str) -> dict[str, str]:
    """Says it again."""
    return {"mood": text}


@stretto.component("takes", effects="pure")
async def takes(mood: str) -> dict[str, int]:
    """Counts."""
    return {"length": len(mood)}


def test_each_workflow_has_its_own_at_what_its_steps_answer(tmp_path: Path) -> None:
    (tmp_path / "inner.yaml").write_text(INNER)
    with Store(tmp_path / "runs.db") as store:
        domains = Domains(workflow_of(tmp_path, WORKFLOW, [says, takes], store).plan)
    own_first = {"mood": ("a", "b", "c")}
    assert domains.at("says") == own_first == domains.at("loop/loop_says")
    assert domains.at("sub/says") == {"mood": ("glad", "cross")}
    assert domains.at("takes") == {}, "it is in what the step is asked"
    assert domains.at("other") == {}, "a domain that is off holds nowhere"
    assert domains.at("nowhere") == {}
