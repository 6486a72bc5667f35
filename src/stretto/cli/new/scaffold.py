"""The files of a new workflow, from templates and the answers of the whiteboard."""

import json
from collections.abc import Mapping
from pathlib import Path
from string import Template
from textwrap import dedent
from typing import Final

from stretto.cli.new.whiteboard import NOTHING, Measure, System, Whiteboard
from stretto.types.json import JsonObject

README: Final = "README.md"

COMPONENTS: Final = "components.py"

TASKS: Final = "tasks.jsonl"

PYTEST: Final = "pytest.ini"

FILES: Final = ("workflow.yaml", "contract.yaml", COMPONENTS, "test_workflow.py", PYTEST, README, TASKS)

FEWEST_TASKS: Final = 12
"""As many as one update of a training takes when nothing else is said."""

_TEMPLATES: Final = Path(__file__).parent / "templates"

_SYSTEM: Final = Template('''
def $name(request: str) -> Answer:
    """$verb $name. Put the real call here; until then it answers requests that mention it."""
    return pretend("$name", request)
''')

_WAYS_TO_ASK: Final = (
    "I have a question about {}",
    "Something is wrong with my {}",
    "Please look into {} for me",
    "Can you help me with {}?",
    "What do you know of my {}?",
    "Tell me about {}",
)

_KNOWN_MEASURES: Final = {
    "solved": '''
        @stretto.reward
        def solved(system: str, found: bool | None) -> float:
            """1 when a system had the answer, 0 when none was asked or it had none."""
            return 1.0 if found else 0.0
    ''',
    "effort": '''
        @stretto.reward
        def effort(system: str, found: bool | None) -> float:
            """How many systems were called."""
            return 0.0 if system == NOTHING else 1.0
    ''',
}

_NEW_MEASURE: Final = Template('''
@stretto.reward
def $name(system: str, found: bool | None) -> tuple[None, str]:
    """$name of a run. Say here how it is measured; until then it is unknown, and never 0."""
    return None, "not measured yet: say how in components.py"
''')


_TO_MEASURE: Final = Template("""
Before the training, write in `components.py` what is not measured yet: $names. Until then every reward is
unknown, and nothing can be learnt. Then:

""")


def unmeasured(board: Whiteboard) -> list[str]:
    """The measures that have to be written before a run has a reward."""
    return [measure.name for measure in board.measures if measure.name not in _KNOWN_MEASURES]


def example_request(board: Whiteboard) -> str:
    """A request that one of the systems knows about, to try the workflow with."""
    return _WAYS_TO_ASK[0].format(board.systems[0].name)


def scaffold(name: str, board: Whiteboard) -> dict[str, str]:
    """The text of each file of a workflow of that name."""
    words = _words(name, board)
    texts = {TASKS: "".join(f"{json.dumps(task)}\n" for task in _tasks(board))}
    for template in _TEMPLATES.iterdir():
        text = template.read_text(encoding="utf-8")
        texts[template.name.removesuffix(".tmpl")] = Template(text).substitute(words)
    return texts


def _tasks(board: Whiteboard) -> list[JsonObject]:
    """Requests to learn from: each asks for one system in one way."""
    systems = [system.name for system in board.systems]
    asked = [
        _WAYS_TO_ASK[number // len(systems) % len(_WAYS_TO_ASK)].format(systems[number % len(systems)])
        for number in range(max(FEWEST_TASKS, len(systems)))
    ]
    return [{"name": f"task {number}", "input": {"request": text}} for number, text in enumerate(asked, 1)]


def _words(name: str, board: Whiteboard) -> Mapping[str, str]:
    systems = [system.name for system in board.systems]
    effects = "\n".join(f'        "{each.name}": "{"write" if each.writes else "read"}",' for each in board.systems)
    return {
        "name": name,
        "description": json.dumps(f"decides {board.planner}", ensure_ascii=False)[1:-1],
        "planner": board.planner,
        "memory": board.memory,
        "nothing": NOTHING,
        "systems_quoted": ", ".join(f'"{system}"' for system in systems),
        "choices": ", ".join([*systems, NOTHING]),
        "calls": "\n".join(f'    "{system}": {system},' for system in systems),
        "effects": effects,
        "example": example_request(board),
        "system_functions": "\n".join(map(_system, board.systems)),
        "measure_functions": "\n".join(map(_measure, board.measures)),
        "measures": ", ".join(measure.name for measure in board.measures),
        "measures_quoted": ", ".join(f'"{measure.name}"' for measure in board.measures),
        "to_measure": _to_measure(unmeasured(board)),
        "weights": "\n".join(f"  {measure.name}: {measure.weight:g}" for measure in board.measures),
        "systems_list": ", ".join(f"{each.name} ({'writes' if each.writes else 'reads'})" for each in board.systems),
    }


def _to_measure(names: list[str]) -> str:
    return _TO_MEASURE.substitute(names=", ".join(f"`{name}`" for name in names)) if names else ""


def _system(system: System) -> str:
    return _SYSTEM.substitute(name=system.name, verb="Change something in" if system.writes else "Read from")


def _measure(measure: Measure) -> str:
    known = _KNOWN_MEASURES.get(measure.name)
    return _NEW_MEASURE.substitute(name=measure.name) if known is None else "\n" + dedent(known).strip() + "\n"
