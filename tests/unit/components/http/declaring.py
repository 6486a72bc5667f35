"""Services by declaration, as a workflow file holds it."""

from pathlib import Path
from textwrap import dedent, indent

import pytest

from stretto.components.declare import build_component
from stretto.components.http.service import HttpService
from stretto.spec.model import ComponentDecl
from stretto.spec.workflow import parse_workflow
from stretto.types.errors import Problem, SpecError


def service(declaration: str, *, folder: Path = Path()) -> HttpService:
    """The service of a workflow file that declares nothing else."""
    components = indent(dedent(declaration).strip(), "    ")
    text = (
        f"stretto: 1\nname: w\ncomponents:\n  it:\n    kind: http\n{components}\nsteps: [{{name: s, component: it}}]\n"
    )
    (declared,) = parse_workflow(text).components
    assert isinstance(declared, ComponentDecl)
    component = build_component(declared, folder=folder)
    assert isinstance(component, HttpService)
    return component


def problems_of(declaration: str) -> tuple[Problem, ...]:
    """What is wrong with a declaration."""
    with pytest.raises(SpecError) as caught:
        service(declaration)
    return caught.value.problems
