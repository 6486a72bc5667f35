"""Workflow files, read into a frozen model; everything wrong in one is told at once."""

from pathlib import Path

import msgspec

from stretto.spec.codes import SpecCode
from stretto.spec.contract import load_contract
from stretto.spec.contract_model import ContractSpec
from stretto.spec.expectation_keys import load_expectations
from stretto.spec.model import ComponentFile, ExpectationSpec, WorkflowSpec
from stretto.spec.nodes import quote
from stretto.spec.read import read_mapping, read_source
from stretto.spec.report import Report
from stretto.spec.source import Located, Source
from stretto.spec.suggest import nearest
from stretto.spec.workflow_keys import WORKFLOW, refuse_newer
from stretto.types.errors import Problem, SpecError


def load_workflow(path: Path) -> WorkflowSpec:
    """Read a workflow file, and the contract file that it names. Raises SpecError with every problem in both."""
    source = read_source(path)
    return parse_workflow(source.text, name=source.name, folder=path.parent)


def parse_workflow(text: str, *, name: str = "<text>", folder: Path | None = None) -> WorkflowSpec:
    """Read a workflow from its text; `name` stands for the file in messages.

    Files that it names are looked up in `folder`; None leaves them unread. Raises SpecError with every problem.
    """
    report = Report()
    top = read_mapping(Source(name, text), WORKFLOW.name, report)
    refuse_newer(top, report)
    workflow = WORKFLOW.read(top, WORKFLOW.name, report)
    if workflow is not None and folder is not None:
        workflow = _with_files(workflow, folder, report)
    report.raise_if_any()
    assert workflow is not None
    return workflow


def _with_files(workflow: WorkflowSpec, folder: Path, report: Report) -> WorkflowSpec:
    """Check that the files it names are there, and read its contract."""
    for part in workflow.components:
        if isinstance(part, ComponentFile) and not (folder / part.path.value).is_file():
            how = f"write it: a function under @stretto.component in {part.path.value} for each component"
            report.add(no_file(part.path, folder, "component file", or_else=how))
    fallback = workflow.fallback
    if fallback is not None and fallback.expectations_path is not None:
        expected = _expectations(fallback.expectations_path, folder, report)
        workflow = msgspec.structs.replace(workflow, fallback=msgspec.structs.replace(fallback, expectations=expected))
    if workflow.contract_path is None:
        return workflow
    return msgspec.structs.replace(workflow, contract=_contract(workflow.contract_path, folder, report))


def _expectations(path: Located[str], folder: Path, report: Report) -> tuple[ExpectationSpec, ...]:
    if not (folder / path.value).is_file():
        report.add(no_file(path, folder, "file of expectations"))
        return ()
    try:
        return load_expectations(folder / path.value)
    except SpecError as error:  # what is wrong with the workflow is told beside it
        for problem in error.problems:
            report.add(problem)
        return ()


def _contract(path: Located[str], folder: Path, report: Report) -> ContractSpec | None:
    if not (folder / path.value).is_file():
        report.add(no_file(path, folder, "contract file"))
        return None
    try:
        return load_contract(folder / path.value)
    except SpecError as error:  # what is wrong with the workflow is told beside it
        for problem in error.problems:
            report.add(problem)
        return None


def no_file(path: Located[str], folder: Path, what: str, *, or_else: str = "") -> Problem:
    """The problem of a file that is named and not there, at the place where it is named.

    `or_else` is what to do when no file there has nearly that name.
    """
    looked_in = (folder / path.value).parent
    beside = [entry.name for entry in looked_in.iterdir()] if looked_in.is_dir() else []
    near = nearest(Path(path.value).name, sorted(beside))
    return path.span.problem(
        SpecCode.FILE_REFERENCE,
        f"the {what} {quote(path.value)} is not there",
        expected="a path relative to the folder of this file",
        suggestion=str(Path(path.value).parent / near) if near else or_else,
    )
