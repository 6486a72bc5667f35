"""A closed set of values, compiled: which of them a text means.

    exact → synonym → rule → learned → abstain

The order is that of how sure each is, and of what it costs: a look-up, a look-up of the folded text, patterns in linear
time, a model. What a person declared comes before what was learnt.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from stretto.spec.contract_model import DomainSpec
from stretto.spec.pattern import Search, compiled_pattern
from stretto.spec.source import Located
from stretto.types.meaning import (
    MAX_ALIGNED_CHARS,
    Aligned,
    AlignedBy,
    Aligner,
    AlignerComponent,
    MeaningMode,
    folded,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """A closed set of values, and what else is a way to say one of them."""

    name: str
    values: tuple[str, ...]
    spellings: Mapping[str, str] = field(default_factory=dict)
    """Folded text → value: of the values themselves where that is clear, and of their synonyms."""
    rules: tuple[tuple[Search, str], ...] = ()
    aligner: Aligner | None = None
    aligner_name: str = ""
    """Of its component, in the manifest."""
    threshold: float | None = None
    """Confidence from which the aligner is believed; None leaves that to the aligner."""
    mode: MeaningMode = MeaningMode.ENFORCE
    translations: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Other domain → value there → value here."""

    @property
    def is_closed(self) -> bool:
        """Nothing but its values passes."""
        return self.mode in (MeaningMode.ENFORCE, MeaningMode.QUARANTINE)

    def declared(self, text: str) -> Aligned | None:
        """The value that a text means by what people declared; None where they said nothing of it."""
        if text in self.values:
            return Aligned(value=text, by=AlignedBy.EXACT)
        if len(text) > MAX_ALIGNED_CHARS:
            return None
        form = folded(text)
        value = self.spellings.get(form)
        if value is not None:
            return Aligned(value=value, by=AlignedBy.SYNONYM)
        if form:
            for search, meant in self.rules:
                if search(form):
                    return Aligned(value=meant, by=AlignedBy.RULE)
        return None

    def align(self, text: str) -> Aligned:
        """The value that a text means; by `abstained`, with the best guess, where nothing says so surely enough."""
        return self.declared(text) or self._learned(text) or Aligned(value="", by=AlignedBy.ABSTAINED, confidence=0.0)

    def _learned(self, text: str) -> Aligned | None:
        if self.aligner is None or len(text) > MAX_ALIGNED_CHARS or not text.strip():
            return None
        guess = self.aligner.align(text)
        if guess is None or guess.value not in self.values:
            return None
        is_sure = guess.by is not AlignedBy.ABSTAINED if self.threshold is None else guess.confidence >= self.threshold
        by = AlignedBy.LEARNED if is_sure else AlignedBy.ABSTAINED
        return Aligned(value=guess.value, by=by, confidence=guess.confidence)


def compile_domain(spec: DomainSpec, default: MeaningMode, aligner: AlignerComponent | None) -> Domain:
    """A domain as its contract declares it; what contradicts itself was refused when the file was read."""
    return Domain(
        name=spec.name.value,
        values=tuple(member.value.value for member in spec.values),
        spellings=dict(_spellings(spec)),
        rules=tuple(_rules(spec)),
        aligner=aligner,
        aligner_name="" if aligner is None else aligner.card.name,
        threshold=spec.threshold,
        mode=spec.mode or default,
        translations={each.domain.value: _plain(each.values) for each in spec.translations},
    )


def _spellings(spec: DomainSpec) -> Iterator[tuple[str, str]]:
    forms = [folded(member.value.value) for member in spec.values]
    for form, member in zip(forms, spec.values, strict=True):
        if form and forms.count(form) == 1:  # two values that differ in case only are told apart by it
            yield form, member.value.value
    for synonyms in spec.synonyms:
        yield from ((folded(word.value), synonyms.value.value) for word in synonyms.words)


def _rules(spec: DomainSpec) -> Iterator[tuple[Search, str]]:
    for rule in spec.rules:
        search = compiled_pattern(rule.match.value)
        if search is not None:  # else the file was refused
            yield search, rule.value.value


def _plain(values: tuple[tuple[Located[str], Located[str]], ...]) -> dict[str, str]:
    return {there.value: here.value for there, here in values}
