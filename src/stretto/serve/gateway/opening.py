"""What a run is opened with: by ``POST /runs``, or by the first call that names its key."""

import secrets
import time
from collections.abc import Mapping
from typing import Final

import msgspec

from stretto.record.canonical import canonical, snapshot
from stretto.record.model import NULL, Manifest, Run
from stretto.runtime.asked import GATEWAY_KEY
from stretto.serve.gateway.ask import Ask
from stretto.serve.gateway.keys import check_key, own_key
from stretto.serve.gateway.models import Models
from stretto.serve.gateway.settings import GatewaySettings
from stretto.serve.refused import Refused
from stretto.types.arguments import INT64_MAX, INT64_MIN
from stretto.types.errors import NotJsonError
from stretto.types.ids import Digest, digest_of, keyed_digest_of, new_run_id, workflow_run_id
from stretto.types.json import Json, JsonObject

VERSION: Final = "0.0.0"
"""Of the workflow that a gateway's runs belong to: which version of an agent made them, only the agent knows."""

NOTHING: Final = msgspec.Raw(b"{}")

SEED_BITS: Final = 53
"""As many as a JSON number holds exactly."""

_FIELDS: Final = frozenset({"key", "labels", "seed", "reference", "input", "model"})


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a run when it is opened."""

    key: str = ""
    """Empty for one of the gateway's making."""
    labels: Mapping[str, str] = msgspec.field(default_factory=dict)
    seed: int | None = None
    reference: msgspec.Raw = NULL
    input: msgspec.Raw = NOTHING
    model: str | None = None
    """The model that it calls first; None when that is not known yet."""


def opening_of(document: JsonObject) -> Opening:
    """Read the body of ``POST /runs``. Raises Refused for what is none."""
    unknown = sorted(set(document) - _FIELDS)
    if unknown:
        raise Refused(400, f"unknown field {unknown[0]!r}; expected {', '.join(sorted(_FIELDS))}", param=unknown[0])
    key, model, seed = document.get("key"), document.get("model"), document.get("seed")
    if key is not None:
        check_key(key)
    if not isinstance(model, str | None):
        raise Refused(400, f"`model` is {model!r}; expected the name of a model", param="model")
    if isinstance(seed, bool) or not isinstance(seed, int | None) or not INT64_MIN <= (seed or 0) <= INT64_MAX:
        raise Refused(400, f"`seed` is {seed!r}; expected a whole number of 64 bits", param="seed")
    return Opening(
        key=str(key or ""),
        labels=labels_of(document.get("labels")),
        seed=seed,
        reference=recorded("reference", document.get("reference")),
        input=recorded("input", document.get("input", {})),
        model=model,
    )


def opened_by(key: str, ask: Ask, limit_bytes: int) -> Opening:
    """A run that its first call opens: what it is given is what that call says. What no record can hold is left out of
    it, as it is of the call's own step, and holds nobody up."""
    said = {ask.said.field: ask.document[ask.said.field]}
    try:
        given = msgspec.Raw(snapshot(said, limit_bytes))
    except NotJsonError:
        given = NOTHING
    return Opening(key=key, input=given, model=ask.model)


def labels_of(given: Json) -> dict[str, str]:
    """Labels: text by name. Raises Refused for anything else, and for the key, which is recorded as one already."""
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise Refused(
            400, f'`labels` is {type(given).__name__}; expected text by name: {{"task": "7"}}', param="labels"
        )
    for name, value in given.items():
        if not isinstance(value, str):
            expected = f'expected text: "{value}"' if isinstance(value, int | float) else "expected text"
            raise Refused(400, f"the label `{name}` is {type(value).__name__}; {expected}", param=f"labels.{name}")
    if GATEWAY_KEY in given:
        raise Refused(
            400, f"the label `{GATEWAY_KEY}` holds the run's key; name yours something else", param="labels.key"
        )
    return {name: str(value) for name, value in given.items()}


def run_of(opening: Opening, settings: GatewaySettings, models: Models, input_key: bytes) -> Run:
    """A run that begins now. Raises Refused for what is not JSON."""
    run_id = new_run_id()
    components = {} if opening.model is None else dict([models.pin(opening.model)])
    manifest = Manifest(workflow=settings.name, version=VERSION, plan=settings.plan, components=components)
    input_digest = keyed_digest_of(input_key, canonical(bytes(opening.input)))
    pinned: Digest = digest_of(canonical(msgspec.to_builtins(manifest)))
    return Run(
        id=run_id,
        workflow_run_id=workflow_run_id(settings.name, VERSION, pinned, input_digest, run_id),
        manifest=manifest,
        input=opening.input,
        input_digest=input_digest,
        started_at_ns=time.time_ns(),
        labels={**opening.labels, GATEWAY_KEY: opening.key or own_key(run_id)},
        seed=secrets.randbits(SEED_BITS) if opening.seed is None else opening.seed,
        reference=opening.reference,
    )


def recorded(field: str, value: Json) -> msgspec.Raw:
    """A value as a record keeps it. Raises Refused for one that it cannot."""
    try:
        return msgspec.Raw(snapshot(value))
    except NotJsonError as error:
        raise Refused(400, f"`{field}` cannot be recorded: {error}", param=field) from error
