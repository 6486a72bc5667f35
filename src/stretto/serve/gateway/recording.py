"""One call's way onto the record: where it stands, and what became of it, told once."""

from typing import Any

import msgspec

from stretto.components.openai.address import Address
from stretto.components.openai.failures import BROKEN_OFF, broken_off, unreadable
from stretto.components.openai.settings import OpenAiSettings
from stretto.components.openai.wire import Completion
from stretto.components.web.reply import Reply
from stretto.record.model import StepRecord
from stretto.serve.gateway.ask import Ask
from stretto.serve.gateway.metrics import GatewayMetrics
from stretto.serve.gateway.open_run import OpenRun
from stretto.serve.gateway.settings import GatewaySettings
from stretto.serve.gateway.steps import Taken, answered_step, answers_alone, completion_of, failed_step
from stretto.serve.gateway.turns import Place
from stretto.types.enums import Reason
from stretto.types.errors import ComponentError, StrettoError


class Recording:
    """Records one call of a run. What cannot be recorded is counted and told, and fails nobody."""

    def __init__(
        self,
        settings: GatewaySettings,
        address: Address,
        metrics: GatewayMetrics,
        run: OpenRun,
        component: OpenAiSettings,
        ask: Ask,
        agent: str,
    ) -> None:
        """`address` is the server's, for messages."""
        self._settings = settings
        self._address = address
        self._metrics = metrics
        self._run = run
        self._component = component
        self._ask = ask
        self._agent = agent
        self._placed: Place | None = None
        self._started_ms = run.ms()
        self.queue_ms = 0.0
        """For how long it waited for a connection."""
        self.is_over = False
        """It was told what became of the call."""
        self.outcome = "ok"

    @property
    def name(self) -> str:
        """The component that is asked."""
        return self._component.name

    def take_place(self) -> None:
        """Take the call's place among those of its run, unless it has one or is over."""
        if not self.is_over:
            _ = self._place

    def answered(self, body: dict[str, Any], reply: Reply, *, unread: int = 0) -> None:
        """Record what the server answered, whole or put together; when it is no completion, as a failure. `unread` are
        pieces of it that were none: its tokens are not all there, and so not kept."""
        doubt = f"events of the stream that were no JSON: {unread}; its tokens are left out" if unread else ""
        try:
            completion, doubt = self._read(body, doubt)
        except (msgspec.MsgspecError, TypeError) as error:
            self.failed(unreadable(self.name, self._address, reply, str(error)))
            return
        reason = next((each.finish_reason for each in completion.choices if each.finish_reason in BROKEN_OFF), None)
        if reason is not None:
            self._failed(broken_off(self.name, self._address, reason), None, completion)
            return
        try:
            answered = answered_step(
                self._component, self._ask, self._place, completion, reply, self._taken(), self._settings.record_bytes
            )
        except StrettoError as error:
            self._cannot(error)
            return
        if doubt:
            answered.step.evidence["tokens"] = doubt
        self.is_over = True
        self._count_untold(answered.step)
        self._run.answered(self._place, self._ask.said, answered)

    def failed(
        self, error: ComponentError, *, reason: Reason | None = None, so_far: dict[str, Any] | None = None
    ) -> None:
        """Record that the call failed, with what had come of its answer; only what is told first counts."""
        if self.is_over:
            return
        try:
            partly = None if so_far is None else completion_of(so_far, is_chat=self._ask.is_chat)
        except (msgspec.MsgspecError, TypeError):
            partly = None
        self._failed(error, reason, partly)

    def _read(self, body: dict[str, Any], doubt: str) -> tuple[Completion, str]:
        """The completion, and what to doubt of it: where only what stands beside the answer has another form than it
        should, that is left out. Raises what `completion_of` does."""
        try:
            return completion_of(body, is_chat=self._ask.is_chat), doubt
        except (msgspec.MsgspecError, TypeError) as error:
            answer = completion_of(answers_alone(body), is_chat=self._ask.is_chat)
            return answer, f"what the server told beside its answer is left out: {error}"

    @property
    def _place(self) -> Place:
        """Where it stands among the calls of its run."""
        if self._placed is None:
            self._placed = self._run.turns.place(self._ask.said, self._agent)
        return self._placed

    def _failed(self, error: ComponentError, reason: Reason | None, partly: Completion | None) -> None:
        self.outcome = "cancelled" if reason is Reason.CANCELLED else "failed"
        limit_bytes = self._settings.record_bytes
        try:
            step = failed_step(
                self._component, self._ask, self._place, error, self._taken(), limit_bytes, partly=partly
            )
        except StrettoError as refused:
            self._cannot(refused)
            return
        self.is_over = True
        self._run.failed(self._place, self._ask.said, step, reason)

    def _cannot(self, error: StrettoError) -> None:
        self.is_over = True
        self._run.turns.failed(self._place, self._ask.said)
        self._run.lost(f"call '{self._place.path}' of run {self._run.run.id} is not recorded: {error}")

    def _count_untold(self, step: StepRecord) -> None:
        """Servers that do not know a field leave it out in silence; whoever learns from the run must not."""
        if any(call.completion_ids is None for call in step.model_calls):
            self._metrics.untold("token_ids")
        if any(call.logprobs is None for call in step.model_calls):
            self._metrics.untold("logprobs")

    def _taken(self) -> Taken:
        return Taken(
            started_ms=round(self._started_ms, 3), ended_ms=round(self._run.ms(), 3), queue_ms=round(self.queue_ms, 3)
        )
