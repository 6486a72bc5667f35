"""`stretto.explain`: a run through its choices and answers, in sentences first, with nothing kept."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import stretto
from stretto.learn.explain.explained import ChoiceExplained, RunExplained
from stretto.learn.explain.page import page
from stretto.learn.explain.words import Trust, trust_of, trust_text
from stretto.types.errors import UsageError

COMPONENTS = """
from typing import Annotated, TypedDict

import torch
from torch import Tensor, nn

import stretto
from stretto import Shape


class Read(TypedDict):
    state: Annotated[Tensor, Shape(4)]


@stretto.component("features", effects="pure", inline=True)
def features(months: list[float], text: str) -> dict[str, list[float] | float | str]:
    return {"months": months, "length": float(len(text)), "text": text}


@stretto.differentiable("reader", inputs=["months"])
class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(3, 4)

    def forward(self, months: Annotated[Tensor, Shape(3)]) -> Read:
        return {"state": torch.tanh(self.net(months))}


@stretto.differentiable("router", inputs=["state", "again", "length"], chooses={"decision": ("approve", "decline")})
class Router(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(8, 2)

    def forward(
        self,
        state: Annotated[Tensor, Shape(4)],
        again: Annotated[Tensor, Shape(3)],
        length: Annotated[Tensor, Shape()],
    ) -> Tensor:
        return self.net(torch.cat([state, again, length[:, None] / 10], 1))


@stretto.reward("judge", terms=("utility",), inline=True)
def judge(decision: str, context: stretto.Context) -> float | tuple[None, str]:
    if context.reference is None:
        return None, "not known yet"
    return 1.0 if decision == context.reference else -4.0
"""

WORKFLOW = """
stretto: 1
name: credit
components: components.py
steps:
  - {name: features, component: features, input_mapping: {months: input.months, text: input.text}}
  - {name: reader, component: reader, input_mapping: {months: steps.features.months}}
  - name: router
    component: router
    input_mapping:
      state: steps.reader.state
      again: steps.features.months
      length: steps.features.length
  - {name: judge, component: judge, input_mapping: {decision: steps.router.decision}}
output: {decision: steps.router.decision}
"""

HOSTILE = "<script>alert(1)</script>\u202e"


@pytest.fixture
def credit(tmp_path: Path) -> Iterator[stretto.Workflow]:
    """Twenty runs, the last of a hostile text."""
    (tmp_path / "components.py").write_text(COMPONENTS)
    (tmp_path / "credit.yaml").write_text(WORKFLOW)
    with stretto.load(tmp_path / "credit.yaml", store=tmp_path / "runs.db") as workflow:
        for seed in range(20):
            asked = {"months": [seed / 10, 1.0, -seed / 5], "text": HOSTILE if seed == 19 else "text"}
            workflow.run_sync(asked, seed=seed, reference="approve")
        yield workflow


def explained(workflow: stretto.Workflow, run: str = "last", **options: object) -> RunExplained:
    return workflow.blocking(lambda: stretto.explain(workflow, run, **options))  # type: ignore[arg-type]  # refused ones


def choice_of(told: RunExplained) -> ChoiceExplained:
    (choice,) = [choice for step in told.steps for choice in step.choices]
    return choice


def test_a_choice_is_attributed_through_the_networks_before_it(credit: stretto.Workflow) -> None:
    choice = choice_of(explained(credit))
    assert choice.through == ("reader",)
    assert set(choice.fields) == {"features.months", "features.length"}  # months is read twice, and has one name
    assert len(choice.parts) == 4
    assert choice.residual < 0.01
    assert sum(part.adds for part in choice.parts) == pytest.approx(choice.score - choice.baseline, rel=1e-2)
    assert choice.compared == 19
    assert {each.alternative for each in choice.logits} == {"approve", "decline"}


def test_the_first_sentences_say_how_it_ended_and_what_it_turned_on(credit: stretto.Workflow) -> None:
    told = explained(credit)
    run = credit.store.get(told.run)
    assert told.summary[0] == (
        f"Run {run.id} of credit ended ok with a reward of {run.reward:.4g}; it is held against 19 other runs."
    )
    turned = next(each for each in told.summary if "router.decision" in each)
    verb = "gained" if run.reward == 1.0 else "cost"
    assert f'router.decision = "{run.output_value["decision"]}" {verb} it 5: with 1 other value' in turned
    assert any(each.startswith(f"router chose {run.output_value['decision']}") for each in told.summary)


def test_nothing_is_kept_and_the_protections_of_others_count_nothing(credit: stretto.Workflow) -> None:
    before, counted = len(credit.store.list()), {name: each.calls for name, each in credit.protections.items()}
    explained(credit)
    assert len(credit.store.list()) == before
    assert {name: each.calls for name, each in credit.protections.items()} == counted


def test_the_page_runs_nothing_of_what_a_run_was_asked(credit: stretto.Workflow) -> None:
    told = explained(credit)
    first = told.steps[0]
    shown = msgspec.structs.replace(first.effects[-1], field=HOSTILE, value=HOSTILE, effect=9.0, rewards=(1.0,))
    loud = msgspec.structs.replace(first, path=HOSTILE, component=HOSTILE, effects=(*first.effects, shown))
    html = page(msgspec.structs.replace(told, run=HOSTILE, steps=(loud, *told.steps)))
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "<script" not in html
    assert "\u202e" not in html
    assert "default-src 'none'" in html
    assert all(html.index(sentence.split()[0]) for sentence in told.summary)


def test_a_component_that_is_another_now_is_named(credit: stretto.Workflow, tmp_path: Path) -> None:
    path = tmp_path / "components.py"
    path.write_text(COMPONENTS.replace("nn.Linear(8, 2)", "nn.Linear(8, 2, bias=False)"))
    other = stretto.load(tmp_path / "credit.yaml", store=tmp_path / "runs.db")
    told = explained(other)
    assert told.changed == ("router",)
    assert "Not as they were in the run any more: router." in told.summary[1]
    [chose] = [said for said in told.summary if said.startswith("router chose")]
    assert chose.endswith("; this is told of other weights than those that chose, and says nothing of why it did.")
    other.close()


def test_what_is_told_is_plain_json(credit: stretto.Workflow) -> None:
    told = msgspec.to_builtins(explained(credit, step="router"))
    assert [step["path"] for step in told["steps"]] == ["router"]
    assert told["steps"][0]["choices"][0]["faith"].keys() == {"deletion", "insertion", "random", "beaten"}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"step": "rooter"}, "did you mean 'router'?"),
        ({"tried": 0}, "tried is 0; expected a whole number from 1 to 1,000"),
        ({"tried": True}, "tried is True"),
        ({"run": "0000"}, "no run has an id"),
    ],
)
def test_what_cannot_be_explained_is_refused(credit: stretto.Workflow, options: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says.replace("?", r"\?")):
        explained(credit, **options)  # type: ignore[arg-type]  # what a user may write


@pytest.mark.parametrize(
    ("residual", "beaten", "trust"),
    [(0.0, 0.97, Trust.STRONG), (0.0, 0.8, Trust.FAIR), (0.0, 0.5, Trust.HINT), (0.02, 1.0, Trust.HINT)],
)
def test_words_of_trust_always_mean_the_same_figures(
    credit: stretto.Workflow, residual: float, beaten: float, trust: Trust
) -> None:
    choice = choice_of(explained(credit, step="router"))
    faith = dataclasses.replace(choice.faith, beaten=beaten)
    assert trust_of(msgspec.structs.replace(choice, residual=residual, faith=faith)) is trust


def test_where_parts_are_a_hint_what_each_loses_alone_is_recommended_if_it_is_better(credit: stretto.Workflow) -> None:
    choice = choice_of(explained(credit, step="router"))
    assert choice.faith_alone is not None
    weak, strong = (dataclasses.replace(choice.faith, beaten=beaten) for beaten in (0.1, 1.0))
    told = msgspec.structs.replace(choice, faith=weak, faith_alone=strong)
    assert "read what each loses alone instead, which beats 100% of random orders" in trust_text(told)
    assert "instead" not in trust_text(msgspec.structs.replace(told, faith_alone=weak))
    assert "instead" not in trust_text(msgspec.structs.replace(told, faith=strong))


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ('("approve", "decline")', '("decline", "approve")', "chose decision of approve, decline, and now chooses of"),
        (
            '("approve", "decline")',
            '("approve", "decline", "ask")',
            "chooses of approve, decline, ask; explain the run",
        ),
        ("return self.net(torch.cat([state", "raise ValueError('no'); return (torch.cat([state", "ValueError: no."),
    ],
)
def test_a_choice_that_another_version_would_not_make_is_not_told_by_it(
    credit: stretto.Workflow, tmp_path: Path, before: str, after: str, says: str
) -> None:
    changed = COMPONENTS.replace(before, after).replace(
        "nn.Linear(8, 2)", f"nn.Linear(8, {3 if 'ask' in after else 2})"
    )
    assert changed != COMPONENTS
    (tmp_path / "components.py").write_text(changed)
    with stretto.load(tmp_path / "credit.yaml", store=credit.store) as now:
        told = now.blocking(lambda: stretto.explain(now))
    (untold,) = [each for each in told.summary if "it is not told why it chose so" in each]
    assert says in untold
    assert all(step.choices == () for step in told.steps)
