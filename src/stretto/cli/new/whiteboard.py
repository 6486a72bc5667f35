"""The four questions that a workflow begins with, and what the answers mean."""

import builtins
import keyword
import re
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from stretto.types.arguments import check_text
from stretto.types.errors import UsageError

WRITES: Final = "*"
"""Behind a system: something is changed there, not only read."""

LESS_IS_BETTER: Final = "-"
"""Before a measure: it counts against the run."""

_VERB: Final = re.compile(r" ?\((read|write)s?\)$", re.IGNORECASE)
"""Behind a system in place of the star: what is done there, as the files of a workflow say it."""

_BARE_VERB: Final = re.compile(r"(.+) ((?:read|write)s?)", re.IGNORECASE)
"""The same without parentheses. Refused: as a part of the name it would make a write a read."""

NOTHING: Final = "nothing"
"""The planner's choice to call no system."""

_TAKEN: Final = frozenset({NOTHING, "planner", "executor", "memory", "judge", "pretend", "stretto", *dir(builtins)})
"""Names that the scaffold uses itself, and those of Python that a function of the same name would hide from it."""


class System(msgspec.Struct, frozen=True, kw_only=True):
    """A real system that the executor calls."""

    name: str
    """A Python identifier."""
    writes: bool


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """A business measure that the reward judges by."""

    name: str
    """A Python identifier."""
    weight: float


class Whiteboard(msgspec.Struct, frozen=True, kw_only=True):
    """The answers."""

    planner: str
    systems: tuple[System, ...]
    memory: str
    measures: tuple[Measure, ...]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One of the four."""

    name: str
    """Of the answer, and of the flag that gives it."""
    text: str
    default: str


QUESTIONS: Final = (
    Question(
        name="planner",
        text="What does the planner decide?",
        default="which system can answer the customer's request",
    ),
    Question(
        name="systems",
        text=f"Which real systems does the executor call? (with commas; a {WRITES} behind those that change something)",
        default=f"orders, refunds{WRITES}",
    ),
    Question(
        name="memory",
        text="What does memory keep?",
        default="the latest requests of a session",
    ),
    Question(
        name="measures",
        text=f"By which business measures does the reward judge? (with commas; a {LESS_IS_BETTER} before a cost)",
        default=f"solved, {LESS_IS_BETTER}effort",
    ),
)

COST_WEIGHT: Final = -0.1
"""Of a cost: small beside the good that it buys, so that the cheapest way is not to do nothing."""


def read_answers(answer: Callable[[Question], str]) -> Whiteboard:
    """Ask the four questions, in order; raises UsageError for an answer that cannot be used."""
    answers = (_text(answer(question), question) for question in QUESTIONS)
    planner, systems, memory, measures = answers
    read_systems = tuple(_system(part) for part in _parts(systems))
    read_measures = tuple(_measure(part) for part in _parts(measures))
    _refuse_repeated("system", [system.name for system in read_systems])
    _refuse_repeated("measure", [measure.name for measure in read_measures])
    clash = {each.name for each in read_systems} & {each.name for each in read_measures}
    if clash:
        raise UsageError(f"'{min(clash)}' is both a system and a measure; give one of them another name")
    return Whiteboard(planner=planner, systems=read_systems, memory=memory, measures=read_measures)


def _text(given: str, question: Question) -> str:
    check_text(f"the answer to --{question.name}", given)
    return " ".join(given.split()) or question.default


def _parts(text: str) -> list[str]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise UsageError(f"{text!r} names nothing; expected one or more names with commas between them")
    return parts


def _system(text: str) -> System:
    verb = _VERB.search(text)
    said = verb[1].lower() if verb else ""
    called = text[: verb.start()] if verb else text
    starred = called.endswith(WRITES)
    called = called.removesuffix(WRITES).rstrip()
    if starred and said == "read":
        raise UsageError(f"system {text!r} writes by its {WRITES} and reads by its parentheses; keep one of them")
    name = _identifier(called, text, "system")
    if bare := _BARE_VERB.fullmatch(called):
        raise UsageError(
            f"system {text!r} can be a longer name or say what is done there; expected {bare[1]} ({bare[2]}) or {name}"
        )
    return System(name=name, writes=starred or said == "write")


def _measure(text: str) -> Measure:
    costs = text.startswith(LESS_IS_BETTER)
    name = text.lstrip(LESS_IS_BETTER).lstrip()
    return Measure(name=_identifier(name, text, "measure"), weight=COST_WEIGHT if costs else 1.0)


def _identifier(called: str, text: str, what: str) -> str:
    """The name in Python code; of what it is called only spaces and hyphens between letters are changed."""
    name = re.sub("[ -]+", "_", called.lower())
    if name in _TAKEN:
        raise UsageError(f"{what} '{name}' is taken: Python or the scaffold calls something else so; try {name}_{what}")
    if not name.isidentifier() or name != name.strip("_") or keyword.iskeyword(name):
        raise _no_name(what, text)
    return name


def _no_name(what: str, text: str) -> UsageError:
    example = next(question.default for question in QUESTIONS if question.name == f"{what}s")
    behind = f"; behind it {WRITES}, (reads) or (writes) may stand" if what == "system" else ""
    return UsageError(
        f"{what} {text!r} cannot be a name in Python code; expected letters and digits, with spaces, - or _ between "
        f"them{behind}; for example: {example}"
    )


def _refuse_repeated(what: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{what} '{name}' is named twice")
