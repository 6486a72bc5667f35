"""The component: which value of its domain a text means, or that it cannot tell."""

from collections.abc import Sequence
from pathlib import Path

from stretto.components.aligner.file import check_domain, read_aligner
from stretto.components.aligner.model import AlignerModel
from stretto.types.card import ANY_ACTION, Card
from stretto.types.enums import Effect
from stretto.types.errors import Code, ComponentError
from stretto.types.json import Schema
from stretto.types.meaning import Aligned, AlignedBy
from stretto.types.messages import Request, Response

_INPUT: Schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


class LearnedAligner:
    """Aligns texts to the values of one domain by what was learnt; thread-safe, a fraction of a millisecond a text."""

    def __init__(self, model: AlignerModel) -> None:
        self.model = model
        self._threshold = model.meta.threshold
        self._card = _card(model)

    @property
    def card(self) -> Card:
        """Its name is ``DOMAIN-aligner``, its version that of its lineage, its digest that of its weights."""
        return self._card

    def align(self, text: str) -> Aligned | None:
        """The value that is meant, by `learned`; below the threshold the best guess, by `abstained`.

        A text that was labelled means what its label says. None where that is no value, and for a text with no n-gram
        that was learnt from: such a text looks like no value more than another.
        """
        values, said = self.model.meta.values, self.model.labels.of(text)
        if said is not None:
            return Aligned(value=values[said], by=AlignedBy.LEARNED) if said < len(values) else None
        rows, _ = self.model.vocabulary.vector(text)
        if not len(rows):
            return None
        (best,), (sure,) = self.model.guesses([text])
        by = AlignedBy.LEARNED if sure >= self._threshold else AlignedBy.ABSTAINED
        return Aligned(value=values[best], by=by, confidence=float(sure))

    async def __call__(self, request: Request) -> Response:
        """Align the input's `text`; `value` is null where it abstains. Raises ComponentError where that is no text."""
        text = request.input.get("text")
        if not isinstance(text, str):
            raise ComponentError(
                f"aligner '{self._card.name}' was given {text!r:.80} as 'text'; expected a text", Code.INVALID_ARGUMENT
            )
        found = self.align(text) or Aligned(value="", by=AlignedBy.ABSTAINED, confidence=0.0)
        value = found.value if found.by is AlignedBy.LEARNED else None
        return Response(output={"value": value, "by": found.by.value, "confidence": found.confidence})


def load_aligner(path: Path, *, domain: str, values: Sequence[str]) -> LearnedAligner:
    """The aligner that a file holds, for a domain with just these values.

    Raises UsageError when there is no such file, or it was trained for another domain, other values or by another
    release; StoreError when it is damaged.
    """
    model = read_aligner(path)
    check_domain(path, model.meta, domain, values)
    return LearnedAligner(model)


def _card(model: AlignerModel) -> Card:
    meta = model.meta
    output: Schema = {
        "type": "object",
        "properties": {
            "value": {"anyOf": [{"enum": list(meta.values)}, {"type": "null"}]},
            "by": {"enum": [AlignedBy.LEARNED.value, AlignedBy.ABSTAINED.value]},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        },
        "required": ["value", "by", "confidence"],
    }
    return Card(
        name=f"{meta.domain}-aligner",
        version=str(meta.lineage.version),
        kind="aligner",
        digest=model.digest,
        input=_INPUT,
        output=output,
        effects={ANY_ACTION: Effect.PURE},
        trainable=True,
        description=f"Says which of {len(meta.values)} values of '{meta.domain}' a text means, or abstains.",
    )
