"""What contradicts itself in semantic domains: words that mean two things, values that are not there, places in two
domains."""

from collections.abc import Iterator, Mapping

from stretto.spec.codes import SpecCode
from stretto.spec.contract_model import DomainSpec, Translation
from stretto.spec.nodes import quote
from stretto.spec.report import Report
from stretto.spec.source import Located
from stretto.spec.suggest import nearest
from stretto.types.meaning import folded


def check_domains(domains: tuple[DomainSpec, ...], report: Report) -> None:
    """Report what contradicts itself in a domain, or between two."""
    known = {domain.name.value: domain for domain in domains}
    held: dict[str, tuple[DomainSpec, Located[str]]] = {}
    for domain in domains:
        _check_synonyms(domain, report)
        _check_rules(domain, report)
        for translation in domain.translations:
            _check_translation(translation, domain, known, report)
        for place in domain.at:
            _check_place(place, domain, held, report)


def _check_place(
    place: Located[str], domain: DomainSpec, held: dict[str, tuple[DomainSpec, Located[str]]], report: Report
) -> None:
    other, first = held.setdefault(place.value, (domain, place))
    if first is not place:
        twice = other is domain
        where = "twice" if twice else f"of the domain {quote(other.name.value)} too"
        _refuse(
            place,
            f"{quote(place.value)} is a place {where} (first at line {first.mark.line})",
            "each place in one domain, once",
            "" if twice else f"from: {{{other.name.value}: ...}} says how its values are said here",
            report,
        )


def _check_synonyms(domain: DomainSpec, report: Report) -> None:
    """A word means one value, and not the spelling of another."""
    spelled = {folded(member.value.value): member.value.value for member in domain.values}
    first: dict[str, tuple[str, Located[str]]] = {}
    for synonyms in domain.synonyms:
        _check_value(synonyms.value, domain, report)
        meant = synonyms.value.value
        for word in synonyms.words:
            form = folded(word.value)
            value = spelled.get(form)
            other, place = first.setdefault(form, (meant, word))
            if value is not None:
                which = "is that value itself" if value == meant else f"is another value, {quote(value)}"
                message = f"the synonym {quote(word.value)} of {quote(meant)} {which}"
                _refuse(word, message, "another word: case, width and white space make no difference", "", report)
            elif place is not word:
                which = "stands already" if other == meant else f"is one of {quote(other)} too"
                message = f"the synonym {quote(word.value)} of {quote(meant)} {which} (line {place.mark.line})"
                _refuse(word, message, "each word once: case, width and white space make no difference", "", report)


def _check_rules(domain: DomainSpec, report: Report) -> None:
    """Each leads to a value of the domain, and is asked at all."""
    before: list[Located[str]] = []
    for rule in domain.rules:
        _check_value(rule.value, domain, report)
        asked = next((other for other in before if _is_found_with(other.value, rule.match.value)), None)
        if asked is not None:
            message = (
                f"the rule {quote(rule.match.value)} is never asked: {quote(asked.value)} (line {asked.mark.line}) "
                "is found wherever it is"
            )
            _refuse(rule.match, message, "the narrower rule first", "", report)
        before.append(rule.match)


def _is_found_with(earlier: str, later: str) -> bool:
    """Whether the one is surely found wherever the other is; told of equal patterns and of plain words only."""
    if earlier == later:
        return True
    plain = all(char.isalnum() or char == " " for char in earlier + later)
    return plain and folded(earlier) in folded(later)


def _check_translation(
    translation: Translation, to: DomainSpec, known: Mapping[str, DomainSpec], report: Report
) -> None:
    source = known.get(translation.domain.value)
    if source is None or source is to:
        what = f"there is no domain {quote(translation.domain.value)}" if source is None else "a domain needs no"
        names = [name for name in known if name != to.name.value]
        expected = f"one of {', '.join(names)}" if names else "the name of another domain, and this is the only one"
        message = what if source is None else f"{what} translation from itself"
        near = nearest(translation.domain.value, names) or ""
        _refuse(translation.domain, message, expected, near, report)
        return
    for there, here in translation.values:
        _check_value(there, source, report)
        _check_value(here, to, report)


def _check_value(value: Located[str], domain: DomainSpec, report: Report) -> None:
    words = list(_words(domain))
    if value.value not in words:
        message = f"{quote(value.value)} is no value of the domain {quote(domain.name.value)}"
        _refuse(value, message, f"one of {', '.join(words)}", nearest(value.value, words) or "", report)


def _words(domain: DomainSpec) -> Iterator[str]:
    return iter(dict.fromkeys(member.value.value for member in domain.values))


def _refuse(place: Located[str], message: str, expected: str, suggestion: str, report: Report) -> None:
    report.add(place.span.problem(SpecCode.SEMANTICS, message, expected=expected, suggestion=suggestion))
