"""What went into a step and came out: of all steps cut short, of one in full."""

import json
from collections.abc import Iterator
from typing import Final

import msgspec
import orjson
from rich.console import Group, RenderableType
from rich.text import Text

from stretto.cli.errors import printable_lines
from stretto.cli.rows import labelled
from stretto.cli.runs.afterwards import cut
from stretto.cli.section import section
from stretto.cli.words import bytes_text, escaped, ms_text, number_text, status_text
from stretto.record.model import NULL, Attempt, Run, StepRecord
from stretto.spec.source import printable
from stretto.types.learning import Action, ModelCall, Reward

_LINES: Final = 3
"""Lines of each input and output that an overview shows."""


def io_view(run: Run, width: int) -> RenderableType:
    """The run's and each step's input and output, a few lines each."""
    room = max(40, width // 2) * _LINES
    rows = []
    for name, given, answered in [("run", run.input, run.output), *((s.path, s.input, s.output) for s in run.steps)]:
        rows.append((Text(name, "bold"), (Text("in ", "dim"), _short(given, room))))
        rows.append((Text(""), (Text("out", "dim"), _short(answered, room))))
    return labelled(rows, width)


def step_view(step: StepRecord) -> RenderableType:
    """Everything that is recorded of one step."""
    first = Text.assemble((step.path, "bold"), "  ").append_text(status_text(step.status, step.reason))
    first.append(f" in {ms_text(step.ended_ms - step.started_ms)}, {ms_text(step.started_ms)} after the run began")
    parts: list[RenderableType] = [first]
    if step.component:
        action = f", action {step.action}" if step.action else ""
        parts.append(Text(f"{step.component}{action}, effect {step.effect}", "dim"))
    if step.error is not None:
        parts.append(Text("\n".join(printable_lines(step.error.message)), "red"))
    parts += [section(title, body) for title, body in _sections(step)]
    return Group(*parts)


def _sections(step: StepRecord) -> Iterator[tuple[str, RenderableType]]:
    yield "input", _json(step.input)
    yield "output", _json(step.output)
    if step.attempts:
        yield "attempts", Group(*(_attempt(number, each) for number, each in enumerate(step.attempts, 1)))
    for action in step.actions:
        yield f"action {action.name}", _action(action)
    for call in step.model_calls:
        yield f"model call {call.model}", _model_call(call)
    if step.rewards:
        yield "rewards", Group(*map(_reward, step.rewards))
    if step.evidence:
        yield "evidence", _json(msgspec.Raw(orjson.dumps(step.evidence)))


def _json(raw: msgspec.Raw) -> Text:
    text = orjson.dumps(orjson.loads(memoryview(raw)), option=orjson.OPT_INDENT_2).decode()
    return Text(printable(text))


def _short(raw: msgspec.Raw, room: int) -> Text:
    if raw == NULL:
        return Text("nothing", "dim")
    text = json.dumps(orjson.loads(memoryview(raw)), ensure_ascii=False)  # with spaces, at which lines may be broken
    size = f"{bytes_text(len(bytes(raw)))}  " if len(text) > room else ""
    return Text.assemble((size, "dim"), cut(printable(text), room))


def _attempt(number: int, attempt: Attempt) -> Text:
    text = Text(f"{number}  {ms_text(attempt.queue_ms)} waiting, {ms_text(attempt.service_ms)} working")
    if attempt.error is not None:
        first, *rest = printable_lines(attempt.error.message)
        text.append("\n".join([f"  {first}", *(f"   {line}" for line in rest)]), "red")
    return text


def _action(action: Action) -> RenderableType:
    """The choice, its probability, and what else could have been chosen."""
    how = "forced" if action.forced else f"with probability {number_text(action.propensity)}"
    head = Text.assemble((action.chosen, "bold"), f" {how}, log-probability {number_text(action.logprob)}, policy ",
                         (action.policy[:8], "dim"))  # fmt: skip
    available = action.available or (True,) * len(action.support)
    others = Text(" ").join(
        Text(name, "" if can else "dim strike") for name, can in zip(action.support, available, strict=True)
    )
    return Group(head, Text("among ", "dim").append_text(others))


def _model_call(call: ModelCall) -> Text:
    text = Text(f"{call.prompt_tokens:,} tokens in, {call.completion_tokens:,} out, {call.finish_reason}")
    return text.append("\n" + "\n".join(printable_lines(call.text)))


def _reward(reward: Reward) -> Text:
    value = "unknown" if reward.value is None else number_text(reward.value)
    return Text.assemble(reward.name, " ", (value, "bold"), (f"  {escaped(reward.reason)}", "dim"))
