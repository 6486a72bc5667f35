"""Components that are declared in a workflow file: ``retail: {kind: mcp, command: [...]}``."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Final

from stretto.components.option_shapes import Make
from stretto.spec.codes import SpecCode
from stretto.spec.model import ComponentDecl, ComponentKind
from stretto.spec.records import Record
from stretto.spec.report import Report
from stretto.spec.source import Located
from stretto.types.errors import MissingExtraError, SpecError, UsageError
from stretto.types.protocols import Component

_TABLES: Final[Mapping[ComponentKind, str]] = {
    ComponentKind.ACP: "acp.declaration:ACP",
    ComponentKind.CAUSAL_LM: "causal_lm.declaration:CAUSAL_LM",
    ComponentKind.EXEC: "exec.declaration:EXEC",
    ComponentKind.HTTP: "http.declaration:HTTP",
    ComponentKind.MCP: "mcp.declaration:MCP",
    ComponentKind.MEMORY: "memory.declaration:MEMORY",
    ComponentKind.OPENAI: "openai.declaration:OPENAI",
    ComponentKind.POLICY: "policy_declaration:POLICY",
    ComponentKind.PYTHON: "python.declaration:PYTHON",
    ComponentKind.REWARD: "reward_declaration:REWARD",
    ComponentKind.RULES: "rules.declaration:RULES",
    ComponentKind.TORCH: "torch.declaration:TORCH",
}
"""Where the table of each kind is, below this package."""


class _Kinds(Mapping[ComponentKind, Record[Make]]):
    """Imports a kind when it is first asked for: a workflow declares one or two, and all take as long as the engine."""

    def __getitem__(self, kind: ComponentKind) -> Record[Make]:
        module, _, name = _TABLES[kind].partition(":")
        table = getattr(import_module(f"stretto.components.{module}"), name)
        assert isinstance(table, Record)
        return table

    def __iter__(self) -> Iterator[ComponentKind]:
        return iter(_TABLES)

    def __len__(self) -> int:
        return len(_TABLES)


KINDS: Final[Mapping[ComponentKind, Record[Make]]] = _Kinds()
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
    from stretto.components.acp.declaration import make_acp  # as `KINDS` does: when it is asked for

    name = address.value.partition("@")[0]
    try:
        return make_acp({"url": name}, name, folder)
    except MissingExtraError:
        raise
    except UsageError as error:
        raise SpecError([address.span.problem(SpecCode.CONFLICT, str(error))]) from error
