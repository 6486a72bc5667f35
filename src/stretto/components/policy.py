"""Kind ``policy``: a trainable choice among named alternatives, the softmax of a linear function of its features.

An ordinary component. Its choices are recorded as actions with their log-probabilities, so that training needs
recorded runs and nothing else. numpy is imported at the first choice, or when a checkpoint is read.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import msgspec

from stretto.components.declared import declared
from stretto.components.policy_features import About, Features, about_of, features_of
from stretto.components.policy_options import PolicyKeywords, input_schema, output_schema, parse_options
from stretto.components.policy_spec import weights_digest
from stretto.types.card import ANY_ACTION, CHOOSES, Card
from stretto.types.enums import Effect
from stretto.types.errors import Code, ComponentError
from stretto.types.ids import digest_of
from stretto.types.json import Json, JsonObject
from stretto.types.learning import Action
from stretto.types.messages import Call, Request, Response

if TYPE_CHECKING:
    from stretto.components.policy_weights import PolicyWeights


class SoftmaxPolicy:
    """Chooses one alternative for each request, by chance: the softmax of (features · weights + prior) / temperature.

    What is not available has probability 0. Facts of the alternatives themselves (`about`) add to the features of
    each, with weights that all alternatives share.

    The draw depends on the run's seed and the step's path only, so a run can be repeated, and every attempt at a
    step makes the same choice.
    """

    def __init__(self, name: str, alternatives: Sequence[str], **options: Unpack[PolicyKeywords]) -> None:
        self.name = name
        self.options = parse_options(name, {"alternatives": alternatives, **options})
        self.spec = self.options.spec
        self._weights: PolicyWeights | None = None
        trained = self.options.checkpoint is not None
        self.weights_digest = self.weights.digest if trained else weights_digest(self.spec)
        """Of the weights alone: what actions carry as `policy`."""
        self._position = {alternative: i for i, alternative in enumerate(self.options.alternatives)}
        self._card = self._make_card()

    @property
    def card(self) -> Card:
        """Its digest covers options and weights."""
        return self._card

    @property
    def weights(self) -> "PolicyWeights":
        """The weights that act; laid out at first use when there is no checkpoint."""
        if self._weights is None:
            from stretto.components.policy_weights import PolicyWeights  # numpy, only when a choice is made

            checkpoint = self.options.checkpoint
            if checkpoint is None:
                self._weights = PolicyWeights.zero(self.spec)
            else:
                self._weights = PolicyWeights.load(Path(checkpoint), self.spec)
        return self._weights

    def with_weights(self, checkpoint: str) -> "SoftmaxPolicy":
        """The same policy with the weights of a checkpoint file.

        Raises UsageError when they were made for other alternatives or features, StoreError for a damaged file.
        """
        return self._changed(checkpoint=checkpoint)

    def with_sampling(self, sample: bool) -> "SoftmaxPolicy":
        """The same policy drawing from its probabilities, or taking the likeliest alternative."""
        return self._changed(sample=sample)

    def _changed(self, **changed: Any) -> "SoftmaxPolicy":  # checked by parse_options
        return SoftmaxPolicy(self.name, **{**msgspec.structs.asdict(self.options), **changed})

    def features(self, data: JsonObject) -> Features:
        """What the policy sees of an input: the same at serving and in training."""
        return features_of(self.spec.features, data)

    def about(self, data: JsonObject) -> About:
        """What the policy sees of each alternative in an input."""
        return about_of(self.spec.features, self.spec.alternatives, data)

    async def open(self) -> None:
        """Lay the weights out, so that the first choice is as fast as the next."""
        _ = self.weights.dense_FK

    async def close(self) -> None:
        """Nothing is held."""

    async def __call__(self, request: Request) -> Response:
        """Choose. Raises ComponentError when nothing is available, or something that it does not know."""
        mask = self.mask(request.input)
        probabilities = self._probabilities(request.input, mask)
        chosen = self._choose(probabilities, request.call)
        probability = probabilities[chosen]
        options = self.options
        action = Action(
            name=options.output,
            chosen=options.alternatives[chosen],
            support=options.alternatives,
            available=() if all(mask) else tuple(mask),
            logprob=math.log(probability),
            propensity=probability if options.sample else 1.0,
            policy=self.weights_digest,
            forced=sum(mask) == 1,
        )
        return Response(output={options.output: action.chosen, "confidence": probability}, actions=(action,))

    def mask(self, data: JsonObject) -> list[bool]:
        """Which alternatives an input allows; raises ComponentError for none, or one that is not known."""
        field, alternatives = self.options.available, self.options.alternatives
        named = data.get(field)
        if named is None:
            return [True] * len(alternatives)
        mask = [False] * len(alternatives)
        for alternative in named if isinstance(named, list) else [named]:
            position = self._position.get(alternative) if isinstance(alternative, str) else None
            if position is None:
                raise ComponentError(
                    f"policy '{self.name}' does not know {alternative!r}, which '{field}' lists; it chooses from "
                    f"{list(alternatives)}",
                    Code.INVALID_ARGUMENT,
                )
            mask[position] = True
        if True not in mask:
            raise ComponentError(
                f"policy '{self.name}' has nothing to choose from: '{field}' is empty. List an alternative, or leave "
                "the field out to allow all",
                Code.INVALID_ARGUMENT,
            )
        return mask

    def _probabilities(self, data: JsonObject, mask: list[bool]) -> list[float]:
        """Masked softmax; in Python, since a dozen alternatives are too few for numpy to pay."""
        logits = self._logits(data)
        scale = 1.0 / self.options.temperature
        top = max(logit for logit, allowed in zip(logits, mask, strict=True) if allowed)
        exps = [math.exp((z - top) * scale) if allowed else 0.0 for z, allowed in zip(logits, mask, strict=True)]
        total = sum(exps)
        return [e / total for e in exps]

    def _logits(self, data: JsonObject) -> list[float]:
        buckets, values = self.features(data)
        dense_FK, prior = self.weights.dense_FK, self.spec.prior
        logits: list[float] = ((values @ dense_FK[buckets])[: len(prior)] + prior).tolist()
        scale = self.spec.features.about_scale
        if not scale:
            return logits
        shared_F = dense_FK[:, -1]
        return [
            z + scale * sum(shared_F[list(known)].tolist()) for z, known in zip(logits, self.about(data), strict=True)
        ]

    def _choose(self, probabilities: list[float], call: Call) -> int:
        if not self.options.sample:
            return max(range(len(probabilities)), key=probabilities.__getitem__)
        left = draw(call.run.seed, call.path)
        chosen = 0
        for i, probability in enumerate(probabilities):
            if probability > 0.0:
                chosen = i  # stays the last possible one when rounding leaves a little of the draw
                left -= probability
                if left < 0.0:
                    break
        return chosen

    def _make_card(self) -> Card:
        options = self.options
        decisive = (self.name.encode(), declared(options, but=("checkpoint",)), self.weights_digest.encode())
        return Card(
            name=self.name,
            version=options.version,
            kind="policy",
            digest=digest_of(b"\0".join(decisive)),
            input=input_schema(options),
            output=output_schema(options),
            effects={ANY_ACTION: Effect.PURE},
            trainable=True,
            capabilities=(CHOOSES,),
            description=f"Chooses one of {len(options.alternatives)} alternatives; learns from reward.",
        )


def draw(seed: int, path: str) -> float:
    """A number from U[0, 1) that depends on the run's seed and the step's path only.

    Counter-based, as in Salmon et al. 2011, "Parallel Random Numbers: As Easy as 1, 2, 3": a hash of the key
    needs no state, so parallel branches, retries and resumes cannot disturb one another.
    """
    return (int.from_bytes(draw_bytes(seed, path), "little") >> 11) * 2.0**-53


def draw_bytes(seed: int, path: str) -> bytes:
    """The eight bytes that `draw` is made of, little-endian."""
    return blake2b(f"{seed}/{path}".encode(), digest_size=8).digest()


def draws(seeds: Sequence[int], paths: Iterable[str]) -> list[float]:
    """`draw` of many runs, each at its path, in half the time."""
    begin, from_bytes, found = blake2b(digest_size=8).copy, int.from_bytes, []
    for seed, path in zip(seeds, paths, strict=False):
        begun = begin()  # a copy takes half as long as another with its options
        begun.update(f"{seed}/{path}".encode())
        found.append((from_bytes(begun.digest(), "little") >> 11) * 2.0**-53)
    return found


def build_policy(name: str, options: Mapping[str, Json], folder: Path | None = None) -> SoftmaxPolicy:
    """Make a policy from its declaration in a workflow file; a relative checkpoint starts at `folder`.

    Raises UsageError when an option is unknown, missing, of the wrong type or out of range.
    """
    given: dict[str, Any] = msgspec.structs.asdict(parse_options(name, options))
    if folder is not None and given["checkpoint"] is not None:
        given["checkpoint"] = folder / given["checkpoint"]
    return SoftmaxPolicy(name, **given)
