"""``/runs``: opened, looked at, rewarded and ended by whoever runs the agents."""

from http import HTTPStatus

import orjson

from stretto.record.model import Run
from stretto.runtime.asked import GATEWAY_KEY
from stretto.serve.answer import Answer
from stretto.serve.gateway.asgi import Asked
from stretto.serve.gateway.ending import ending_of, reward_of
from stretto.serve.gateway.keys import check_key
from stretto.serve.gateway.open_run import OpenRun
from stretto.serve.gateway.opening import opening_of
from stretto.serve.gateway.runs import Runs
from stretto.serve.gateway.sealing import conversation_of, is_call
from stretto.serve.gateway.settings import GatewaySettings
from stretto.serve.refused import Refused, unavailable
from stretto.types.errors import StoreError
from stretto.types.json import JsonObject


class Manage:
    """The handlers."""

    def __init__(self, runs: Runs, settings: GatewaySettings) -> None:
        self._runs = runs
        self._settings = settings

    async def open(self, asked: Asked, answer: Answer) -> None:
        """``POST /runs``: answers key and base_url once the run is kept."""
        run = self._runs.open(opening_of(await self._document(asked)))
        try:
            await run.opened()
        except StoreError as error:
            raise unavailable(error) from error
        await answer.json(HTTPStatus.CREATED, {**_told(run), "base_url": f"{asked.origin}/run/{run.key}/v1"})

    async def show(self, key: str, answer: Answer) -> None:
        """``GET /runs/KEY``."""
        check_key(key)
        run = self._runs.open_ones.get(self._runs.key_of(key))
        await answer.json(HTTPStatus.OK, _told(run) if run is not None else _sealed(await self._runs.sealed(key)))

    async def reward(self, key: str, asked: Asked, answer: Answer) -> None:
        """``POST /runs/KEY/reward``: part of the run while it is open, an annotation afterwards."""
        check_key(key)
        reward = reward_of(await self._document(asked))
        is_open = await self._runs.reward(self._runs.key_of(key), reward)
        told: JsonObject = {"key": key, "name": reward.name, "value": reward.value, "annotation": not is_open}
        await answer.json(HTTPStatus.OK, told)

    async def end(self, key: str, asked: Asked, answer: Answer) -> None:
        """``POST /runs/KEY/end``: seals it."""
        check_key(key)
        ending = ending_of(await self._document(asked))
        await answer.json(HTTPStatus.OK, _sealed(await self._runs.end(self._runs.key_of(key), ending)))

    async def _document(self, asked: Asked) -> JsonObject:
        """The body as a JSON object; none at all is an empty one. Raises Refused."""
        body = await asked.body(self._settings.max_body_bytes)
        if not body.strip():
            return {}
        try:
            document = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise Refused(400, f"the body is no JSON: {error}", code="invalid_json") from error
        if not isinstance(document, dict):
            raise Refused(400, f"the body is {type(document).__name__}; expected a JSON object", code="invalid_json")
        return document


def _told(run: OpenRun) -> JsonObject:
    """An open run."""
    return {"key": run.key, "run": run.run.id, "status": None, "calls": run.calls, "branches": run.turns.branches}


def _sealed(run: Run) -> JsonObject:
    """A run that has ended."""
    calls = [step for step in run.steps if is_call(step)]
    return {
        "key": run.labels.get(GATEWAY_KEY, ""),
        "run": run.id,
        "status": run.status,
        "calls": len(calls),
        "branches": len({conversation_of(step.path) for step in calls}),
        "reward": run.reward,
    }
