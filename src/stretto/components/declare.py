"""Components that are declared in a workflow file: ``retail: {kind: mcp, command: [...]}``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from stretto.components.acp.declaration import ACP, make_acp
from stretto.components.exec.declaration import EXEC
from stretto.components.http.declaration import HTTP
from stretto.components.mcp.declaration import MCP
from stretto.components.memory.declaration import MEMORY
from stretto.components.openai.declaration import OPENAI
from stretto.components.option_shapes import Make
from stretto.components.policy_declaration import POLICY
from stretto.components.python.declaration import PYTHON
from stretto.components.reward_declaration import REWARD
from stretto.components.rules.declaration import RULES
from stretto.spec.codes import SpecCode
from stretto.spec.model import ComponentDecl, ComponentKind
from stretto.spec.records import Record
from stretto.spec.report import Report
from stretto.spec.source import Located
from stretto.types.errors import MissingExtraError, SpecError, UsageError
from stretto.types.protocols import Component

KINDS: Final[Mapping[ComponentKind, Record[Make]]] = {
    ComponentKind.ACP: ACP,
    ComponentKind.EXEC: EXEC,
    ComponentKind.HTTP: HTTP,
    ComponentKind.MCP: MCP,
    ComponentKind.MEMORY: MEMORY,
    ComponentKind.OPENAI: OPENAI,
    ComponentKind.POLICY: POLICY,
    ComponentKind.PYTHON: PYTHON,
    ComponentKind.REWARD: REWARD,
    ComponentKind.RULES: RULES,
}
"""For each kind the options that it takes: a table that reads them, suggests, and publishes their schema."""


def build_component(declared: ComponentDecl, *, folder: Path) -> Component:
    """Make a declared component; nothing is started.

    Paths and modules are looked for in the folder, the workflow file's own. Raises SpecError with every problem of
    the declaration at its place, MissingExtraError when the kind needs a package that is not installed.
    """
    report = Report()
    make = KINDS[declared.kind].read(declared.options, declared.name.value, report)
    report.raise_if_any()
    if make is None:
        raise RuntimeError(f"the declaration of '{declared.name.value}' was refused without a problem")
    try:
        return make(declared.name.value, folder)
    except MissingExtraError:
        raise
    except UsageError as error:
        raise SpecError([declared.name.span.problem(SpecCode.CONFLICT, str(error))]) from error


def component_at(address: Located[str], *, folder: Path) -> Component:
    """The component that stands at an address which a step names in place of a declaration.

    Raises SpecError at its place where it cannot be called, or does not say what it is.
    """
    name = address.value.partition("@")[0]
    try:
        return make_acp({"url": name}, name, folder)
    except MissingExtraError:
        raise
    except UsageError as error:
        raise SpecError([address.span.problem(SpecCode.CONFLICT, str(error))]) from error
