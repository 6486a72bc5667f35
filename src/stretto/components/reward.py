"""Kind ``reward``: judges a run, term by term. Only components of this kind see the run's reference.

A term that cannot be computed is *unknown*, never 0: the run then has no total, and learning leaves it out.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final, TypeVar, cast, overload

import orjson

from stretto.components.codes import ComponentCode
from stretto.components.names import NAME_RULE, is_component_name
from stretto.components.python.context import added_usage
from stretto.components.python.decorator import MARK, component_of
from stretto.components.python.digest import source_of
from stretto.components.python.place import refuse
from stretto.components.python.signature import merge_definitions
from stretto.components.reward_term import Function, RewardTerm
from stretto.types.arguments import as_tuple, check_text, wrong
from stretto.types.card import ANY_ACTION, Card
from stretto.types.enums import Effect
from stretto.types.errors import SpecError, UsageError
from stretto.types.ids import Digest, digest_of
from stretto.types.json import Json, JsonObject, Schema
from stretto.types.learning import total_reward
from stretto.types.messages import Request, Response

KIND: Final = "reward"

F = TypeVar("F", bound=Callable[..., Any])

_NUMBER_OR_UNKNOWN: Final[JsonObject] = {"type": ["number", "null"]}


class CompositeReward:
    """Computes terms and adds them up: output ``{terms: {name: number or null}, total: number or null}``.

    `parts` are functions, plain or under ``@reward``; a plain one computes the term of its own name. Its input is
    what they take together. Its total is the plain sum; that of the run has the weights of the contract. Raises
    SpecError when two parts compute one term, or take one field as different types.
    """

    def __init__(
        self,
        name: str,
        parts: Sequence[Function | RewardTerm],
        *,
        version: str = "0.0.0",
        description: str = "",
    ) -> None:
        if not is_component_name(name):
            raise UsageError(f"'{name}' cannot be the name of a component; expected {NAME_RULE}")
        check_text(f"the version of reward '{name}'", version)
        check_text(f"the description of reward '{name}'", description)
        functions = as_tuple(f"the parts of reward '{name}'", parts)
        if not functions:
            raise UsageError(f"reward '{name}' has no parts; give the functions that compute its terms")
        self._name = name
        self._version = version
        self._description = description
        self.parts = tuple(term for part in functions for term in _terms_of(part))
        self._card: Card | None = None
        _refuse_shared_terms(self.parts)

    @property
    def terms(self) -> tuple[str, ...]:
        """Names of all terms that it computes; the contract's weights must name the same."""
        return tuple(name for part in self.parts for name in part.names)

    @property
    def card(self) -> Card:
        """Raises SpecError when its functions cannot be called together."""
        if self._card is None:
            self._card = self._read_card()
        return self._card

    async def __call__(self, request: Request) -> Response:
        judged = [await part.judge(request) for part in self.parts]
        rewards = tuple(reward for response in judged for reward in response.rewards)
        terms: JsonObject = {reward.name: reward.value for reward in rewards}
        return Response(
            output={"terms": terms, "total": total_reward(rewards)},
            rewards=rewards,
            usage=reduce(added_usage, (response.usage for response in judged)),
            model_calls=tuple(call for response in judged for call in response.model_calls),
            evidence={key: value for response in judged for key, value in response.evidence.items()},
            queue_ms=sum(response.queue_ms for response in judged),
        )

    def _read_card(self) -> Card:
        return Card(
            name=self._name,
            version=self._version,
            kind=KIND,
            digest=self._digest(),
            input=_merged_input(self.parts),
            output=_output_schema(self.terms),
            effects={ANY_ACTION: Effect.READ},
            description=self._description,
        )

    def _digest(self) -> Digest:
        declared = orjson.dumps([self._name, self._version, self.terms])
        return digest_of(b"\0".join([declared, *(source_of(part.function) for part in self.parts)]))


@overload
def reward(name: F, /) -> F: ...


@overload
def reward(
    name: str | None = None,
    version: str = "0.0.0",
    *,
    terms: Sequence[str] = (),
    description: str = "",
    inline: bool = False,
) -> Callable[[F], F]: ...


def reward(
    name: F | str | None = None,
    version: str = "0.0.0",
    *,
    terms: Sequence[str] = (),
    description: str = "",
    inline: bool = False,
) -> F | Callable[[F], F]:
    """Declare a function as a reward, by itself or as a part of a `CompositeReward`. It stays as it is.

    It takes fields like a component, and with a `Context` the run's `reference`. It returns a number, None when it
    cannot tell, or either with a reason in words: ``(0.5, "one call too many")``. Its term has the function's name;
    with several `terms` it returns a mapping. `inline` as for ``@component``.
    """

    def declare(function: F) -> F:
        own = getattr(function, "__name__", "reward")
        called = own if name is None or callable(name) else name
        if not is_component_name(called):
            raise refuse(
                function, ComponentCode.NAME, f"'{called}' cannot be the name of a component", expected=NAME_RULE
            )
        term = RewardTerm(function, as_tuple(f"the terms of reward '{called}'", terms) or (own,), inline=inline)
        text = description or (function.__doc__ or "").strip().split("\n")[0]
        setattr(function, MARK, CompositeReward(called, [term], version=version, description=text))
        return function

    return declare(name) if callable(name) else declare


def _terms_of(part: Function | RewardTerm) -> Sequence[RewardTerm]:
    if isinstance(part, RewardTerm):
        return [part]
    declared = component_of(part)
    if isinstance(declared, CompositeReward):
        return declared.parts
    if not callable(part):
        raise wrong("a part of a reward", part, "a function, plain or under @reward")
    return [RewardTerm(part, [getattr(part, "__name__", "reward")], inline=False)]


def _refuse_shared_terms(parts: Sequence[RewardTerm]) -> None:
    seen: dict[str, RewardTerm] = {}
    for part in parts:
        for name in part.names:
            if seen.setdefault(name, part) is not part:
                raise refuse(
                    part.function,
                    ComponentCode.DUPLICATE,
                    f"two parts of the reward compute '{name}'",
                    expected="each term from one function",
                    suggestion=f'@reward(terms=["{name}_2"])',
                )


def _merged_input(parts: Sequence[RewardTerm]) -> Schema:
    """Fields that the parts take together: one is required if any part requires it."""
    properties: dict[str, Json] = {}
    required: dict[str, None] = {}
    definitions: dict[str, Json] = {}
    for part in parts:
        schema = part.signature.input
        for name, field in cast("JsonObject", schema["properties"]).items():
            if _but_default(properties.setdefault(name, field)) != _but_default(field):
                raise _clash(part, name)
        required |= dict.fromkeys(cast("list[str]", schema["required"]))
        merge_definitions(definitions, dict(schema), part.function)
    takes_any = any(part.signature.takes_any for part in parts)
    merged: JsonObject = {"type": "object", "properties": properties, "required": [*required]}
    return {**merged, "additionalProperties": takes_any} | ({"$defs": definitions} if definitions else {})


def _but_default(field: Json) -> Json:
    return {key: value for key, value in field.items() if key != "default"} if isinstance(field, dict) else field


def _clash(part: RewardTerm, field: str) -> SpecError:
    return refuse(
        part.function,
        ComponentCode.SIGNATURE,
        f"'{field}' has another type hint here than in another part of the same reward",
        expected="one type for a field: all parts are given the same input",
        suggestion="use one hint, or another name for the parameter",
    )


def _output_schema(terms: Sequence[str]) -> Schema:
    values: JsonObject = dict.fromkeys(terms, _NUMBER_OR_UNKNOWN)
    return {
        "type": "object",
        "properties": {
            "terms": {"type": "object", "properties": values, "required": list(terms)},
            "total": _NUMBER_OR_UNKNOWN,
        },
        "required": ["terms", "total"],
        "additionalProperties": False,
    }
