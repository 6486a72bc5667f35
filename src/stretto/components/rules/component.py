"""Rules as a component: a deterministic answer that needs no model, no memory and no network."""

import asyncio
import logging
from collections.abc import Iterator
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from stretto.components.declared import declared
from stretto.components.loop_lock import open_elsewhere
from stretto.components.rules.settings import DEFAULT_SERVED_TIMEOUT, RuleSettings
from stretto.components.waiting import Wait
from stretto.types.card import ANY_ACTION, ANY_OBJECT, Card
from stretto.types.enums import Effect
from stretto.types.ids import digest_of
from stretto.types.json import Json, JsonObject, Schema
from stretto.types.messages import Request, Response

if TYPE_CHECKING:  # the engine of rules is an extra, and aiohttp takes 0.2 s to import
    import jsonschema_rs

    from stretto.components.rules.analysis import Analysis
    from stretto.components.rules.decision import Answer
    from stretto.components.rules.served import ServedAnswer, ServedRules

_log: Final = logging.getLogger(__name__)

_INDIFFERENT: Final = frozenset({"served_timeout", "trace", "description"})


class RuleComponent:
    """Decides by a JDM decision model: the step's input goes in, the model's answer comes out.

    The file is read and analysed at once: an input that no row answers, a row that never answers, nodes that come
    back to themselves and cells that the engine would pass over raise SpecError with their places. `input` and
    `output` are JSON Schemas; without them those of the model's input and output nodes hold.

    With `url`, rules served apart by ``stretto fallback serve`` are asked first, for no longer than `served_timeout`;
    the copy in this process answers when they do not, or not as `output` says. Evidence of each answer:
    ``answered_by``, ``served`` (why they did not), ``served_digest`` (when theirs are other rules), and with `trace`
    ``rows``, which rows of which tables answered.
    """

    def __init__(
        self,
        name: str,
        *,
        file: str | Path,
        input: JsonObject | None = None,  # noqa: A002  # as the workflow file and the card have it
        output: JsonObject | None = None,
        url: str = "",
        served_timeout: timedelta = DEFAULT_SERVED_TIMEOUT,
        trace: bool = True,
        version: str = "0.0.0",
        description: str = "",
    ) -> None:
        settings = RuleSettings(
            name=name,
            url=url,
            served_timeout=served_timeout,
            trace=trace,
            input=input,
            output=output,
            version=version,
            description=description,
        )
        settings.check()
        from stretto.components.rules.analysis import check_rules
        from stretto.components.rules.decision import Decision

        self._settings = settings
        self.analysis: Analysis = check_rules(Path(file), input)
        self._decision = Decision(self.analysis.files)
        self._card = _card(settings, self.analysis, self._decision.digest)
        self._served: ServedRules | None = None
        self._check = _validator(self._card.output) if url else None

    @property
    def card(self) -> Card:
        """Pure; reads, when rules served apart may answer. The digest covers the rules and where they are asked."""
        return self._card

    @property
    def told_at_load(self) -> Iterator[tuple[str, str]]:
        """What the analysis found that nothing has to be done about, with its places."""
        return ((note.place, note.text) for note in self.analysis.notes)

    async def open(self) -> None:
        """Nothing is sent; connections to served rules are made with the first call."""
        if self._settings.url:  # else the first call would spend on it most of what the served rules have to answer
            await asyncio.to_thread(import_module, "stretto.components.rules.served")

    async def close(self) -> None:
        """Drop the connections; the next call connects again."""
        served, self._served = self._served, None
        if served is not None and served.loop is asyncio.get_running_loop():
            await served.close()

    async def __call__(self, request: Request) -> Response:
        """Decide once. Raises ComponentError with the node of the model that cannot."""
        if not self._settings.url:
            return self._here(request.input, {})
        from stretto.components.rules.served import Silence

        with Wait() as wait:
            served = await self._client().ask(request.input, _headers(request), wait, request.call.deadline)
        if isinstance(served, Silence):
            answer = self._instead(request.input, served.why)
        elif broken := self._breach(served.output):
            answer = self._instead(request.input, f"its answer breaks the output's schema: {broken}")
        else:
            answer = Response(output=served.output, evidence=self._evidence_of(served))
        return msgspec.structs.replace(answer, queue_ms=wait.ms) if wait.ms else answer

    def _client(self) -> "ServedRules":
        from stretto.components.rules.served import ServedRules

        served = self._served
        if served is not None and served.loop is not asyncio.get_running_loop():
            if not served.loop.is_closed():
                raise open_elsewhere(f"rules '{self._settings.name}'", served.loop)
            served = None
        if served is None:
            self._served = served = ServedRules(self._settings.url, self._settings.served_timeout.total_seconds())
        return served

    def _instead(self, given: JsonObject, why: str) -> Response:
        _log.warning("rules '%s' served at %s: %s; answered in process", self._settings.name, self._settings.url, why)
        return self._here(given, {"answered_by": "in_process", "served": why})

    def _here(self, given: JsonObject, evidence: JsonObject) -> Response:
        answer: Answer = self._decision.answer(given, trace=self._settings.trace)
        rows: JsonObject = {"rows": [*answer.rows]} if self._settings.trace else {}
        return Response(output=answer.output, evidence={**evidence, **rows})

    def _breach(self, output: JsonObject) -> str:
        """How an answer breaks the output's schema; empty when it does not."""
        broken = None if self._check is None else next(self._check.iter_errors(output), None)
        return "" if broken is None else broken.message

    def _evidence_of(self, served: "ServedAnswer") -> JsonObject:
        evidence: JsonObject = {"answered_by": "served"}
        if served.digest != self._decision.digest:
            _log.warning(
                "rules '%s' served at %s are other rules: %s there, %s here",
                self._settings.name,
                self._settings.url,
                served.digest,
                self._decision.digest,
            )
            evidence["served_digest"] = served.digest
        rows: list[Json] = [*served.rows]
        return {**evidence, "rows": rows} if self._settings.trace else evidence


def _validator(schema: Schema) -> "jsonschema_rs.Draft202012Validator":
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator(dict(schema), offline=True)


def _headers(request: Request) -> dict[str, str]:
    from stretto.components.rules.served import OTHER_TRAFFIC

    run = request.call.run
    headers = {"X-Workflow-Run-Id": run.workflow_run_id}
    headers |= {OTHER_TRAFFIC: "1"} if run.labels.get("purpose") else {}
    return headers | run.trace


def _card(settings: RuleSettings, analysis: "Analysis", rules: str) -> Card:
    files = analysis.files
    return Card(
        name=settings.name,
        version=settings.version,
        kind="rules",
        digest=digest_of(declared(settings, but=_INDIFFERENT) + rules.encode()),
        input=settings.input or files.declared_input() or ANY_OBJECT,
        output=settings.output or files.declared_output() or ANY_OBJECT,
        effects={ANY_ACTION: Effect.READ if settings.url else Effect.PURE},
        description=settings.description,
    )
