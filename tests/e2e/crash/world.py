"""One store and one shop, and processes in them that may be killed; what they said is checked against what is there."""

import shutil
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import Any, Final

import msgspec

from stretto.record.model import EffectRecord, Run, decoded
from stretto.store.sqlite import Store
from stretto.types.enums import RunStatus, StepStatus
from stretto.types.json import JsonObject
from tests.e2e.crash.nursery import Job

HERE: Final = Path(__file__).parent

INPUT: Final[JsonObject] = {"order": "#W5918442", "user": "sofia_rossi_8776", "street": "Karl Johan 1"}

TOOLS: Final = {"cancel": "cancel_pending_order", "move/shop#2": "modify_user_address"}
"""The writes of a run at the shop: step path → tool."""

PAYMENTS: Final = {"1": "first", "2": "each[0]", "3": "each[1]"}
"""The writes of a run at the bank: amount → step path."""


@dataclass
class Life:
    """What one process acknowledged, by kind: (run id, detail); and how it ended."""

    said: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    writes: dict[tuple[str, str], str] = field(default_factory=dict)
    """(run id, step path) → what was acknowledged last of that write: ``intended`` or ``received``. A write that the
    shop denies is received as refused, and then intended again."""
    code: int = 0
    span_s: float = 0.0
    """From its first acknowledgement to its last."""

    def runs(self, kind: str) -> set[str]:
        return {run_id for run_id, _ in self.said.get(kind, ())}


@dataclass
class World:
    """A folder of its own; `workflow` is ``telling``, ``mute`` or ``bank``."""

    folder: Path
    workflow: str
    nursery: "Popen[str]"
    logs: dict[str, Counter[str]] = field(default_factory=dict)
    """Run → how often it made each write, from whoever performed it."""

    @property
    def store(self) -> Store:
        return Store(self.folder / "runs.db")

    def do(self, **job: Any) -> Life:
        """Let a process do a job."""
        asked = Job(
            folder=str(self.folder),
            workflow=str(HERE / f"{self.workflow}.yaml"),
            store=str(self.folder / "runs.db"),
            run_input=INPUT,
            **job,
        )
        assert self.nursery.stdin is not None
        assert self.nursery.stdout is not None
        self.nursery.stdin.write(msgspec.json.encode(asked).decode() + "\n")
        self.nursery.stdin.flush()
        life, first = Life(), 0.0
        for line in self.nursery.stdout:
            kind, _, rest = line.rstrip("\n").partition(" ")
            if kind == "ended":
                life.code = int(rest)
                return life
            run_id, _, detail = rest.partition(" ")
            life.said.setdefault(kind, []).append((run_id, detail))
            if kind in ("intended", "received"):
                life.writes[run_id, detail] = kind
            first = first or time.monotonic()
            life.span_s = time.monotonic() - first
        raise AssertionError("the nursery died")

    def go_on(self, run_ids: Iterable[str], *, about: Iterable[str] | None = None, at: int = 0) -> Life:
        """Resume runs, and ask whoever made their writes, or those of the runs in `about`, how often."""
        ids = sorted(run_ids)
        asked = ids if about is None else sorted(about)
        life = self.do(resume=ids, logs_of=[] if self.workflow == "bank" else asked, at=at)
        for run_id, text in life.said.get("log", ()):
            self.logs[run_id] = _calls(msgspec.json.decode(text))
        if self.workflow == "bank":
            self.logs |= self._payments()
        return life

    def pending(self) -> set[str]:
        """Runs that wait to be resumed."""
        with self.store as store:
            return {run.id for run in store.pending()}

    def clear(self) -> None:
        """Let the shop forget: its state takes 3 MB a run."""
        shutil.rmtree(self.folder / "state", ignore_errors=True)

    def _payments(self) -> dict[str, Counter[str]]:
        """What was paid. A second key for the same payment would pay it twice."""
        payments: dict[str, Counter[str]] = {}
        for payment in self.folder.glob("payments/*"):
            if not payment.suffix:  # the draft of a process that was killed
                run_id = payment.name.partition("_")[0]
                payments.setdefault(run_id, Counter())[PAYMENTS[payment.read_text()]] += 1
        return payments

    # what must hold

    def check_nothing_lost(self, life: Life) -> None:
        """Everything that was acknowledged is there, and no run in doubt is called ok."""
        with self.store as store:
            there = {run.id: run.status for run in store.list()}
            pending = {run.id for run in store.pending()}
            assert store.stats().lost == 0
            assert life.runs("accepted") <= there.keys()
            for run_id, status in life.said.get("sealed", ()):
                assert there[store.get(run_id).id] == status
            unsealed = {run_id for run_id, status in there.items() if status is None}
            assert unsealed == pending, "nobody executes them"
            for (run_id, path), kind in life.writes.items():
                effect = _by_path(store.effects(run_id))[path]
                assert kind == "intended" or not effect.in_doubt
            for effect in store.in_doubt():
                assert there[effect.run_id] in (None, RunStatus.PARKED)

    def check_ended(self, run_id: str) -> Run:
        """The run ended well or is parked, and the world holds each of its writes at most once."""
        with self.store as store:
            run, effects = store.get(run_id), _by_path(store.effects(run_id))
        made = self.logs.get(run_id, Counter())
        assert not [path for path, count in made.items() if count > 1], "an effect happened twice"
        in_doubt = [path for path, effect in effects.items() if effect.in_doubt]
        assert run.status is (RunStatus.PARKED if in_doubt else RunStatus.OK), run.error
        for path, effect in effects.items():
            if not effect.in_doubt:
                assert made[path] == (effect.receipt is not None)
        if run.status is RunStatus.OK:
            assert set(made) == set(PAYMENTS.values() if self.workflow == "bank" else TOOLS)
            assert decoded(run.output) == {"done": 3}
            twice = Counter(step.path for step in run.steps if step.status is not StepStatus.FAILED)
            assert set(twice.values()) == {1}, twice
        return run

    def tell(self, run_id: str) -> None:
        """Be the person who finds out what happened, and says so."""
        with self.store as store:
            for path, effect in _by_path(store.effects(run_id)).items():
                if effect.in_doubt:
                    answer: JsonObject = {"ok": True, "result": None}
                    happened = self.logs[run_id][path] > 0
                    store.settle_effect(run_id, path, response=answer if happened else None, by="ann", reason="the log")


def _by_path(effects: Iterable[EffectRecord]) -> dict[str, EffectRecord]:
    return {effect.path: effect for effect in effects}


def _calls(answer: Any) -> Counter[str]:
    """How often the log holds each write, by the step that makes it."""
    paths = {tool: path for path, tool in TOOLS.items()}
    names = [call["tau2_tool_call"]["name"] for call in answer["result"]["calls"]]
    return Counter(paths[name] for name in names if name in paths)
