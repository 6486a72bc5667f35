"""An explanation in sentences: what to say first to somebody who has to answer for a run."""

import math
from collections.abc import Sequence
from typing import Final

from stretto.learn.explain.explained import ChoiceExplained, FieldEffect, RunExplained, StepExplained
from stretto.learn.explain.reward_words import reward_head_texts
from stretto.learn.explain.words import likelier_text, noise, together, trust_of, unusual_texts, value_text
from stretto.types.words import count_text, number_text

NAMED: Final = 3
"""Answers, and inputs of a choice, that are named."""

UNTOLD: Final = (
    "What its answers were worth is not told: its reward is missing, or not known yet; a step of kind reward gives a "
    "run one, and a replay too."
)
"""A reward that somebody annotated is no remedy: a replay with another answer would have none to hold against it."""

OF_NOW: Final = "this is told of other weights than those that chose, and says nothing of why it did"

UNREPLAYED: Final = (
    "What its answers were worth is not told: a replay with nothing changed has no reward. What judged it is not there "
    "any more, or a step that changed since would have had to write, or to read, for real."
)

ANYWAY: Final = 0.1
"""Part of a choice's score below which what is special about a run did not decide it."""

MOST_CHOICES: Final = 6
"""That are told of: a conversation makes dozens, of which the least likely are told."""


def summary_of(told: RunExplained) -> tuple[str, ...]:
    """What became of it, what it turned on, what made its choices, and what is odd; a sentence or a few each."""
    return tuple(
        sentence
        for sentence in (
            _outcome(told),
            *_changed(told),
            *_worth(told),
            *_choices(told),
            *_unusual(told),
            *reward_head_texts(told),
        )
        if sentence
    )


def _outcome(told: RunExplained) -> str:
    reward = "no reward" if told.reward is None else f"a reward of {number_text(told.reward)}"
    against = count_text(told.compared, "other run")
    return f"Run {told.run} of {told.workflow} ended {told.status} with {reward}; it is held against {against}."


def _changed(told: RunExplained) -> list[str]:
    if not told.changed:
        return []
    names = ", ".join(told.changed)
    return [f"Not as they were in the run any more: {names}. What is said of them holds for what they are now."]


def _worth(told: RunExplained) -> list[str]:
    """What the reward turned on."""
    if told.reward is None:
        return [UNTOLD]
    if told.again is None:
        return [UNREPLAYED]
    if not told.compared:
        return ["No other run is there, so no other answer could be tried in place of its own."]
    moved = _moved(told)
    said = [*(_turned(*each) for each in moved[:NAMED]), *([] if moved else [_unmoved(told)])]
    return [*_otherwise(told), *_unsteady(told), *said, *_unanswered(told), *_unread(told)]


def _otherwise(told: RunExplained) -> list[str]:
    """Where what judges it now does not come to what it came to then."""
    if told.reward is None or told.again is None or abs(told.reward - told.again) <= noise(told):
        return []
    now = f"A replay with nothing changed comes to {number_text(told.again)} now"
    judged = "what judged it is not what it was"
    why = (
        f"{'what is named above answers otherwise' if told.changed else judged}, or its reward was told from elsewhere"
    )
    return [f"{now}: {why}. What its answers were worth is told against that."]


def _unsteady(told: RunExplained) -> list[str]:
    furthest = max((step.apart for step in told.steps), default=0.0)
    if furthest <= noise(told):
        return []
    twice = (
        f"What judges it does not say the same twice: two replays alike came to rewards {number_text(furthest)} apart"
    )
    return [f"{twice}, so effects of about that size may be chance."]


def _unanswered(told: RunExplained) -> list[str]:
    failed = sum(each.failed for step in told.steps for each in step.effects)
    if not failed:
        return []
    why = "the component could not have answered so, the run would have failed, or it had no reward then"
    calls = "a step that writes, or one that reads, would have had to be called for real"
    return [f"Of {count_text(failed, 'replay')} nothing is known: {why}, or {calls}."]


def _moved(told: RunExplained) -> list[tuple[StepExplained, FieldEffect]]:
    """Fields that moved the reward on average, the most first; where none does by itself, whole answers that did."""
    effects = [(step, each) for step in told.steps for each in step.effects]
    moved = sorted((each for each in effects if abs(each[1].effect or 0.0) > noise(told)), key=_size)
    return [each for each in moved if each[1].field] or moved


def _unread(told: RunExplained) -> list[str]:
    paths = [step.path for step in told.steps if step.is_unread]
    if not paths:
        return []
    named = ", ".join(together(paths))
    world = "What they did to the world a judge may read, but no replay does it again."
    return [f"Nothing that judged it reads what these answered: {named}. {world}"]


def _size(effect: tuple[StepExplained, FieldEffect]) -> float:
    return -abs(effect[1].effect or 0.0)


def _unmoved(told: RunExplained) -> str:
    rewards = [reward for step in told.steps for each in step.effects for reward in each.rewards]
    if not rewards:
        return "No other answer could be tried: other runs had none, or nothing is known of what it would have come to."
    replays = count_text(len(rewards), "replay")
    if any(abs(reward - (told.again or 0.0)) > noise(told) for reward in rewards):
        return f"No other answer that was tried moved its reward on average: in {replays} it was {_range(rewards)}."
    return (
        f"No other answer that was tried moved its reward: it was the same in all of {replays}. A replay "
        "performs no write, so what a judge reads of the world is what it was."
    )


def _turned(step: StepExplained, effect: FieldEffect) -> str:
    worth = effect.effect or 0.0
    did = f"{'gained' if worth > 0 else 'cost'} it {number_text(abs(worth))}"
    name = (
        f"{step.path}.{effect.field} = {value_text(effect.value)}" if effect.field else f"All of {step.path}'s answer"
    )
    others = count_text(len(effect.rewards), "other value" if effect.field else "other answer")
    return (
        f"{name} {did}: with {others} of other runs in its place its reward would have been {_range(effect.rewards)}."
    )


def _range(rewards: Sequence[float]) -> str:
    low, high = number_text(min(rewards)), number_text(max(rewards))
    return low if low == high else f"{low} to {high}"


def _choices(told: RunExplained) -> list[str]:
    found = [(step, choice) for step in told.steps for choice in step.choices]
    read = [(step, choice) for step, choice in found if choice.parts]
    least_likely = sorted((choice for _, choice in read), key=lambda each: each.logprob)[:MOST_CHOICES]
    said = [_chose(told, step, choice) for step, choice in read if any(choice is each for each in least_likely)]
    if left := len(read) - len(said):
        said.append(f"{count_text(left, 'likelier choice')} {'is' if left == 1 else 'are'} told below.")
    if unread := together([step.path for step, choice in found if not choice.parts]):
        said.append(
            f"Nothing that it read made a difference to what was chosen by {', '.join(unread)}: its prior decided."
        )
    return said + [
        f"Of {step.path} it is not told why it chose so: {step.untold}." for step in told.steps if step.untold
    ]


def _chose(told: RunExplained, step: StepExplained, choice: ChoiceExplained) -> str:
    inputs = [(name, value) for name, value in choice.fields.items() if value][:NAMED]
    special = choice.score - choice.baseline
    chose = f"{step.path} chose {choice.chosen} (probability {math.exp(choice.logprob):.3g}{likelier_text(choice)})"
    trust = f"this is {trust_of(choice)}" if _is_of_the_run(told, step, choice) else OF_NOW
    if choice.compared and abs(special) < ANYWAY * abs(choice.score):
        part = f"{special:+.3f} of its logit's {choice.score:+.3f}"
        return f"{chose}, about as likely of what is usual: only {part} come of this run, by {_named(inputs)}; {trust}."
    spoke_for = [each for each in inputs if each[1] > 0]
    if spoke_against := [each for each in inputs if each[1] < 0]:
        chose_so = f"most of all because of {_named(spoke_for)}, and " if spoke_for else ""
        return f"{chose} {chose_so}in spite of {_named(spoke_against)}; {trust}."
    return f"{chose} most of all because of {_named(spoke_for)}; {trust}."


def _named(inputs: Sequence[tuple[str, float]]) -> str:
    return ", ".join(f"{name} ({value:+.3f})" for name, value in inputs) or "none of its inputs"


def _is_of_the_run(told: RunExplained, step: StepExplained, choice: ChoiceExplained) -> bool:
    """Whether what chose, and what it is attributed through, are as they were in the run."""
    through = {each.component for each in told.steps if each.path in choice.through}
    return not {step.component, *through} & set(told.changed)


def _unusual(told: RunExplained) -> list[str]:
    return [
        f"{step.path}: {text}"
        for step in told.steps
        for choice in step.choices
        for text in unusual_texts(choice, step.path)
    ]
