"""Finds the aligner that a domain of a contract names."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from stretto.plan.codes import PlanCode
from stretto.runtime.catalog import ComponentCatalog
from stretto.spec.contract_model import DomainSpec
from stretto.spec.report import Report
from stretto.spec.source import Located
from stretto.spec.workflow import no_file
from stretto.types.errors import StrettoError
from stretto.types.meaning import AlignerComponent
from stretto.types.protocols import Component

Once: TypeAlias = Callable[[Path, Callable[[Path], dict[str, Component]]], dict[str, Component]]
"""What is made of a file, made once."""


def find_aligner(domain: DomainSpec, catalog: ComponentCatalog, report: Report, once: Once) -> AlignerComponent | None:
    """The aligner in the file that a domain names, or what was put in its place; None, and a problem, where none is.

    The path is from the folder of the contract.
    """
    place = domain.aligner
    if place is None:
        return None
    folder = Path(place.span.source.name).parent
    if not (folder / place.value).is_file():
        how = f"train one: stretto semantics train --domain {domain.name.value}"
        report.add(no_file(place, folder, "aligner file", or_else=how))
        return None
    try:
        return _in_place_of(_read(folder / place.value, domain, once), catalog)
    except StrettoError as error:
        _refuse(place, domain, error, report)
        return None


def _read(path: Path, domain: DomainSpec, once: Once) -> AlignerComponent:
    """Raises UsageError or StoreError, as `load_aligner` does."""
    from stretto.components.aligner.component import LearnedAligner, load_aligner
    from stretto.components.aligner.file import check_domain

    name, values = domain.name.value, [member.value.value for member in domain.values]

    def make(file: Path) -> dict[str, Component]:
        made = load_aligner(file, domain=name, values=values)
        return {made.card.name: made}

    (aligner,) = once(path, make).values()
    if not isinstance(aligner, LearnedAligner):
        raise TypeError(f"{path} was made into a {type(aligner).__name__}")
    check_domain(path, aligner.model.meta, name, values)  # of another domain, where two name one file
    return aligner


def _in_place_of(aligner: AlignerComponent, catalog: ComponentCatalog) -> AlignerComponent:
    name = aligner.card.name
    other = catalog.find(name) if name in catalog.put else None
    return other if isinstance(other, AlignerComponent) else aligner


def _refuse(place: Located[str], domain: DomainSpec, error: StrettoError, report: Report) -> None:
    report.add(
        place.span.problem(
            PlanCode.MEANING,
            f"this aligner cannot serve the domain '{domain.name.value}': {error}",
            expected="the file of an aligner that was trained for this domain, with its values as they are now",
        )
    )
