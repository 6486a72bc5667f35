"""The domain that a verb is about, as the workflow's contract declares it."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from stretto.spec.contract_model import ContractSpec, DomainSpec
from stretto.spec.suggest import nearest
from stretto.spec.workflow import load_workflow
from stretto.types.errors import UsageError

DomainName = Annotated[
    str | None, typer.Option("--domain", metavar="NAME", help="Which domain. [default: the only one]")
]


def read_contract(file: Path) -> ContractSpec:
    """The contract of a workflow file, read and not compiled: an aligner that does not fit is no hindrance here."""
    contract = load_workflow(file).contract
    if contract is None or not contract.semantics:
        raise UsageError(f"{file} has no contract with domains; declare one under `semantics`")
    return contract


def named_domain(contract: ContractSpec, name: str | None) -> DomainSpec:
    """The domain of that name, or the only one; raises UsageError that names those there are."""
    domains = {domain.name.value: domain for domain in contract.semantics}
    if name is None and len(domains) == 1:
        return next(iter(domains.values()))
    if name is not None and name in domains:
        return domains[name]
    guess = nearest(name, domains) if name is not None else None
    what = "name one with --domain" if name is None else f"there is no domain '{name}'"
    hint = f"did you mean '{guess}'?" if guess else f"there are: {', '.join(domains)}"
    raise UsageError(f"{contract.source.name}: {what}; {hint}")


def label_command(file: Path, domain: str) -> str:
    """The command that says what texts of a domain mean."""
    return f"stretto semantics label {shlex.quote(str(file))} --domain {shlex.quote(domain)}"


def folder_of(contract: ContractSpec) -> Path:
    """Where the contract's file is: paths in it begin there."""
    return Path(contract.source.name).parent


def values_of(domain: DomainSpec) -> list[str]:
    """The values of a domain, in the order of the file."""
    return [member.value.value for member in domain.values]
