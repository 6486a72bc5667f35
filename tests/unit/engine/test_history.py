"""Resume and replay: what was recorded stands, writes are never repeated, what is made up is marked."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from stretto.engine.engine import Engine
from stretto.engine.history import History
from stretto.engine.request import RunRequest
from stretto.plan.model import Block, Fallback, Plan
from stretto.record.canonical import request_digest
from stretto.record.model import EffectRecord, Manifest, Run, decoded
from stretto.testing import run_virtual
from stretto.types.enums import Durability, Effect, RunStatus, StepStatus
from stretto.types.errors import ReplayError
from stretto.types.ids import RunId, StepPath, digest_of
from stretto.types.messages import Request, Response
from tests.unit.engine.books import LOST, WRITE, Book, execute
from tests.unit.engine.plans import Ledger, Probe, S, call, failing, linear, plan, read, returning, run, step


def replay(recorded: Run, again: Plan, *, run_input: Mapping[str, object] | None = None, **options: Any) -> Run:
    async def main() -> Run:
        request = RunRequest(input=decoded(recorded.input) if run_input is None else run_input, seed=recorded.seed)
        return await Engine(Ledger()).replay(again, recorded, request, **{"outputs": {}, **options})

    return run_virtual(main())


def resume(interrupted: Run, again: Plan, effects: Mapping[StepPath, EffectRecord] | None = None) -> Run:
    async def main() -> Run:
        history = History.resume(interrupted, effects or {})
        return await Engine(Ledger()).resume(again, interrupted, history, Ledger())

    return run_virtual(main())


def chain(*probes: Probe) -> Block:
    """Each step reads the output `v` of the one before it, the first one the input's."""
    slots = [0, *(S + n for n in range(len(probes)))]
    return linear(
        *(
            call(probe, after, {"v": read(before, "v")}, reads=frozenset({before}))
            for probe, before, after in zip(probes, slots, slots[1:], strict=False)
        )
    )


class TestReplay:
    def test_unchanged_steps_are_taken_from_the_record_without_calling_anything(self) -> None:
        a, b = returning("a", {"v": 1}), returning("b", {"v": 2})
        recorded = run(chain(a, b), {"v": 0})
        again = replay(recorded, plan(chain(a, b)))
        assert (len(a.requests), len(b.requests)) == (1, 1)
        assert [record.reused_from for record in again.steps] == [recorded.id, recorded.id]
        assert again.replay_of == recorded.id
        assert not again.simulated

    def test_a_changed_component_is_called_and_what_follows_sees_its_output(self) -> None:
        recorded = run(chain(returning("a", {"v": 1}), returning("b", {"v": 2})), {"v": 0})
        new, after = returning("a", {"v": 9}), returning("b", {"v": 3})
        manifest = Manifest(workflow="test", version="1", plan=digest_of(b""), components={"a": "2.0.0@new"})
        replay(recorded, plan(chain(new, after), manifest=manifest))
        assert len(new.requests) == 1
        assert [request.input for request in after.requests] == [{"v": 9}]

    def test_a_step_is_called_whose_component_calls_one_that_changed(self) -> None:
        async def ask(request: Request) -> object:
            assert request.call.caller is not None
            return await request.call.caller.call("look", {})

        asks, look = Probe("asks", ask), returning("look", {"v": 1})
        body = linear(call(asks, S, calls_others=True), call(returning("b", {}), S + 1))
        recorded = run(body, nested={"look": call(look, S)})
        manifest = Manifest(workflow="test", version="1", plan=digest_of(b""), components={"look": "2.0.0@new"})
        again = replay(recorded, plan(body, manifest=manifest, nested={"look": call(returning("look", {"v": 2}), S)}))
        assert decoded(step(again, "asks").output) == {"v": 2}
        assert step(again, "b").reused_from == recorded.id

    def test_a_step_is_called_whose_fallback_changed(self) -> None:
        def body(rescue: Probe) -> Block:
            return linear(call(failing("weak", RuntimeError("no")), S, fallback=Fallback(op=call(rescue, S))))

        recorded = run(body(returning("rescue", {"v": 1})))
        manifest = Manifest(workflow="test", version="1", plan=digest_of(b""), components={"rescue": "2.0.0@new"})
        again = replay(recorded, plan(body(returning("rescue", {"v": 2})), manifest=manifest))
        assert decoded(step(again, "weak").output) == {"v": 2}

    def test_a_substituted_output_marks_everything_downstream_as_simulated(self) -> None:
        a, b, c = returning("a", {"v": 1}), returning("b", {"v": 2}), returning("c", {"v": 3})
        recorded = run(chain(a, b, c), {"v": 0})
        again = replay(recorded, plan(chain(a, b, c)), outputs={"b": {"v": 7}})
        assert [record.simulated for record in again.steps] == [False, True, True]
        assert [request.input for request in c.requests] == [{"v": 2}, {"v": 7}]
        assert again.simulated

    def test_a_changed_input_marks_what_reads_it_as_simulated(self) -> None:
        a = returning("a", {"v": 1})
        again = replay(run(chain(a), {"v": 0}), plan(chain(a)), run_input={"v": 5})
        assert step(again, "a").simulated

    def test_a_write_is_never_performed_again_its_recorded_response_stands(self) -> None:
        pay = returning("pay", {"v": 1}, effects=WRITE)
        recorded = run(chain(pay), {"v": 0})
        again = replay(recorded, plan(chain(pay)))
        assert len(pay.requests) == 1
        assert step(again, "pay").reused_from == recorded.id

    def test_a_write_that_would_be_asked_something_else_ends_the_replay(self) -> None:
        pay = returning("pay", {"v": 1}, effects=WRITE)
        again = replay(run(chain(pay), {"v": 0}), plan(chain(pay)), run_input={"v": 5})
        assert again.status is RunStatus.FAILED
        assert again.error is not None
        assert "not replayable" in again.error.message
        assert len(pay.requests) == 1

    def test_a_dry_run_leaves_such_a_write_out_and_goes_on(self) -> None:
        pay, after = returning("pay", {"v": 1}, effects=WRITE), returning("after", {"v": 2})
        recorded = run(chain(pay, after), {"v": 0})
        again = replay(recorded, plan(chain(pay, after)), run_input={"v": 5}, dry_run=True)
        assert again.status is RunStatus.OK
        assert len(pay.requests) == 1
        assert step(again, "pay").status is StepStatus.SKIPPED
        assert after.requests[-1].input == {"v": None}
        assert step(again, "after").simulated

    def test_a_live_read_after_a_write_that_was_taken_from_the_record_is_simulated(self) -> None:
        effects = {"write": Effect.WRITE, "*": Effect.READ}
        shop = returning("shop", {"v": 1}, effects=effects, action_field="do")
        body = linear(
            call(shop, S, {"do": lambda _f: "write"}, name="order", action_field="do"),
            call(shop, S + 1, {"do": lambda _f: "look", "v": read(0, "v")}, name="look", action_field="do"),
        )
        recorded = run(body, {"v": 0})
        again = replay(recorded, plan(body), run_input={"v": 1})
        assert step(again, "look").simulated
        assert not step(again, "order").simulated

    def test_a_substitute_for_a_step_that_is_not_there_is_refused(self) -> None:
        a = returning("a", {"v": 1})
        recorded = run(chain(a), {"v": 0})
        with pytest.raises(ReplayError, match="has no step 'nope'; it has: a"):
            replay(recorded, plan(chain(a)), outputs={"nope": {}})

    def test_memory_and_resources_are_the_values_that_the_recorded_run_saw(self) -> None:
        a = returning("a", {})
        body = linear(call(a, S, {"m": read(1, "recent")}))
        recorded = run(body, request={"memory": {"recent": [1]}})
        replay(recorded, plan(body))
        assert a.requests[0].input == {"m": [1]}
        assert len(a.requests) == 1


class TestReplayOfAParkedRun:
    def test_a_write_in_doubt_cannot_be_replayed_and_the_error_says_why(self) -> None:
        pay = failing("pay", LOST, effects=WRITE)
        body = linear(call(pay, S))
        parked = execute(body, Book())

        async def main(**options: Any) -> Run:
            return await Engine(Ledger()).replay(plan(body), parked, RunRequest(input={}), **{"outputs": {}, **options})

        again = run_virtual(main())
        assert again.status is RunStatus.FAILED
        assert again.error is not None
        assert "did not answer" in again.error.message
        dry = run_virtual(main(dry_run=True))
        assert step(dry, "pay").status is StepStatus.SKIPPED
        given = run_virtual(main(outputs={"pay": {"id": 1}}))
        assert given.simulated
        assert len(pay.requests) == 1


class TestResume:
    def interrupted(self, body: Block, keep: int) -> Run:
        """A run that was killed after its first `keep` steps."""
        whole = run(body, {"v": 0}, durability=Durability.STEP)
        return msgspec.structs.replace(whole, steps=whole.steps[:keep], status=None)

    def test_recorded_steps_are_not_made_again(self) -> None:
        a, b = returning("a", {"v": 1}), returning("b", {"v": 2})
        ended = resume(self.interrupted(chain(a, b), keep=1), plan(chain(a, b), output={"v": read(S + 1, "v")}))
        assert (len(a.requests), len(b.requests)) == (1, 2)
        assert ended.status is RunStatus.OK
        assert [record.path for record in ended.steps] == ["a", "b"]

    def test_a_write_with_a_receipt_stands_even_when_its_step_was_not_recorded(self) -> None:
        pay = returning("pay", {"v": 1}, effects=WRITE)
        ended = resume(
            self.interrupted(chain(pay), keep=0), plan(chain(pay)), {StepPath("pay"): receipt({"v": 0}, {"v": 1})}
        )
        assert len(pay.requests) == 1
        assert ended.status is RunStatus.OK

    def test_a_receipt_for_another_request_refuses_to_stand(self) -> None:
        pay = returning("pay", {"v": 1}, effects=WRITE)
        ended = resume(self.interrupted(chain(pay), keep=0), plan(chain(pay)), {StepPath("pay"): receipt({"v": 9}, {})})
        assert ended.status is RunStatus.FAILED
        assert ended.error is not None
        assert "receipt for another request" in ended.error.message

    def test_an_intent_without_a_receipt_parks_the_run_when_nobody_can_tell(self) -> None:
        pay = returning("pay", {"v": 1}, effects=WRITE)
        ended = resume(
            self.interrupted(chain(pay), keep=0), plan(chain(pay)), {StepPath("pay"): receipt({"v": 0}, None)}
        )
        assert ended.status is RunStatus.PARKED
        assert len(pay.requests) == 1

    def test_an_intent_without_a_receipt_is_sent_again_where_that_is_safe(self) -> None:
        pay = returning("pay", {"v": 1}, effects=WRITE, idempotent=True)
        ended = resume(
            self.interrupted(chain(pay), keep=0), plan(chain(pay)), {StepPath("pay"): receipt({"v": 0}, None)}
        )
        assert ended.status is RunStatus.OK
        assert len(pay.requests) == 2

    def test_an_intent_without_a_receipt_is_settled_by_asking(self) -> None:
        class Bank(Probe):
            async def confirm(self, _request: Request) -> Response | None:
                return Response(output={"v": 5})

        async def answer(_request: Request) -> object:
            return {"v": 1}

        pay = Bank("pay", answer, effects=WRITE, confirms=True)
        ended = resume(
            self.interrupted(chain(pay), keep=0),
            plan(chain(pay), output={"v": read(S, "v")}),
            {StepPath("pay"): receipt({"v": 0}, None)},
        )
        assert decoded(ended.output) == {"v": 5}
        assert len(pay.requests) == 1

    def test_another_manifest_is_refused_and_names_what_changed(self) -> None:
        a = returning("a", {"v": 1})
        manifest = Manifest(workflow="test", version="1", plan=digest_of(b""), components={"a": "2.0.0@new"})
        with pytest.raises(ReplayError, match="changed since: a"):
            resume(self.interrupted(chain(a), keep=0), plan(chain(a), manifest=manifest))

    def test_a_failed_step_is_made_again(self) -> None:
        flaky = failing("flaky", ValueError("once"), {"v": 1})
        failed = run(chain(flaky), {"v": 0}, durability=Durability.STEP)
        ended = resume(failed, plan(chain(flaky)))
        assert ended.status is RunStatus.OK
        assert ended.error is None


def receipt(request: dict[str, object], response: dict[str, object] | None) -> EffectRecord:
    """An effect of step `pay` as a store would give it back."""
    encoded = msgspec.json.encode(request)
    return EffectRecord(
        run_id=RunId("interrupted"),
        path=StepPath("pay"),
        component="pay",
        action="",
        request_digest=request_digest(encoded),
        request=msgspec.Raw(encoded),
        intended_at_ns=1,
        receipt=None if response is None else msgspec.Raw(msgspec.json.encode(response)),
    )
