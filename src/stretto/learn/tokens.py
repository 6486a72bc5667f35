"""Recorded runs folded into what a trainer of language models learns from: token sequences with their advantages.

Nothing but the record is read, and of a call nothing but its tokens: whether a workflow asked the model or an agent
behind a gateway did makes no difference. Ids are as sampled, never made again from a text. Shape letters: R runs,
S sequences, P tokens of a prompt, T tokens behind it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from stretto.learn.arguments import each_recorded
from stretto.learn.completeness import Made
from stretto.learn.joining import Joined, Sampled, joined, sampled_of
from stretto.learn.objective import Ints
from stretto.learn.rewards import check_run
from stretto.learn.usable import ACCIDENTS, Downgraded, Exclusion, Recorded, Rules, UsableRuns, UsedRuns
from stretto.record.model import Run, StepRecord
from stretto.types.arguments import check_text
from stretto.types.enums import Reason, StepStatus
from stretto.types.errors import LearningError


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenSamples(UsedRuns):
    """What one model learns from."""

    component: str
    """The model's, in the runs."""
    sequences: tuple[Joined, ...]
    run_S: Ints
    """Each sequence's run, an index into the R runs."""

    @property
    def tokens(self) -> int:
        """How many the model sampled: what is learnt from."""
        return sum(int(each.mask.sum()) for each in self.sequences)


@dataclass(slots=True)
class _Fold:
    """Samples while they are gathered."""

    usable: UsableRuns
    sequences: list[Joined] = field(default_factory=list)
    run: list[int] = field(default_factory=list)


def collect_tokens(
    recorded: Iterable[Run | Recorded],
    component: str,
    *,
    accidents: frozenset[Reason] = ACCIDENTS,
    downgraded: Downgraded = Downgraded.EXCLUDE,
    as_of_ns: int | None = None,
) -> TokenSamples:
    """Fold runs into the samples of one model, by the rules of `samples.collect`.

    A call whose prompt begins with an earlier call's prompt and answer goes on with its sequence: what lies between is
    there and not learnt from. Any other begins one of its own, so every token is learnt from once.
    """
    check_text("the component", component, "its name")
    rules = Rules(accidents=accidents, downgraded=downgraded, as_of_ns=as_of_ns)
    fold = _Fold(UsableRuns(component, Made.MODEL_CALLS, rules))
    for item in each_recorded(recorded):
        _fold_run(fold, item)
    return TokenSamples(
        component=component,
        sequences=tuple(fold.sequences),
        run_S=np.array(fold.run, np.int64),
        **fold.usable.used,
    )


def models_of(run: Run) -> set[str]:
    """The components of a run that recorded completions."""
    check_run(run)
    return {step.component for step in run.steps if step.model_calls and step.component}


def only_model(recorded: Iterable[Run | Recorded]) -> str:
    """The one component that completed anything in these runs. Raises LearningError when there is none, or several."""
    found = sorted({name for item in each_recorded(recorded) for name in models_of(item.run)})
    match found:
        case [name]:
            return name
        case []:
            raise LearningError(
                "no answer of a model is recorded in these runs, so there are no tokens to learn from; look at one "
                "with `stretto runs show`"
            )
    raise LearningError(f"these runs asked the models {', '.join(found)}; say which one is to learn")


def _fold_run(fold: _Fold, item: Recorded) -> None:
    usable = fold.usable
    reward = usable.reward_of(item)
    if reward is None:
        return
    steps = sorted((step for step in item.run.steps if step.component == usable.component), key=_begun)
    calls = [call for step in steps for call in _sampled(fold, step)]
    if calls:
        sequences = joined(calls)
        fold.sequences += sequences
        fold.run += [len(usable.ids)] * len(sequences)
        usable.add(item.run, reward)


def _begun(step: StepRecord) -> float:
    return step.started_ms


def _sampled(fold: _Fold, step: StepRecord) -> list[Sampled]:
    """The completions of a step that can be learnt from; others are counted."""
    excluded = fold.usable.excluded
    if step.status is not StepStatus.OK:
        excluded[Exclusion.DOWNGRADED] += 1
        return []
    found = [sampled_of(step.path, call) for call in step.model_calls]
    excluded[Exclusion.TOKENS_UNTOLD] += found.count(None)
    return [each for each in found if each is not None]
