"""Puts the faces of workflows together, over one desk."""

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from stretto.acp.server import Desk, Limits
from stretto.acp.server.tokens import Tokens
from stretto.runtime.workflow import Workflow
from stretto.serve.acp_serving import Beside
from stretto.serve.faces.asking import Asking
from stretto.serve.faces.chat import ChatFace
from stretto.serve.faces.chat_fields import ChatFields, chat_fields
from stretto.serve.faces.component import WorkflowComponent
from stretto.serve.faces.dispatch import Face, beside
from stretto.serve.faces.runs import RunsFace
from stretto.types.errors import UsageError

if TYPE_CHECKING:  # the SDK takes most of a second to import, and is of another extra
    from stretto.serve.faces.tools import ToolsFace


class FaceName(StrEnum):
    """What a workflow can be to others; a component of the protocol it always is."""

    MCP = "mcp"
    OPENAI = "openai"


class ChatNames(msgspec.Struct, frozen=True, kw_only=True):
    """Which fields a conversation goes in and comes out by, where the convention does not say."""

    asked: str | None = None
    answered: str | None = None


class Faces:
    """Workflows, and what they are to others."""

    def __init__(self, workflows: Iterable[Workflow], limits: Limits | None = None) -> None:
        """Raises UsageError for two workflows of one name, or none."""
        self.workflows = tuple(workflows)
        self.desk = Desk(map(WorkflowComponent, self.workflows), limits)
        self.asking = Asking(self.desk)
        self.models: dict[str, ChatFields] = {}
        self.unfit: dict[str, str] = {}
        """Workflows that are no models, with why."""
        self.own_pages_only = False
        """Web pages from elsewhere are refused."""
        self._faces: list[Face] = []
        self._living: list[ToolsFace] = []

    def add_runs(self, tokens: Tokens | None) -> None:
        """Answer ``/v1/workflows/NAME/runs``."""
        self._faces.append(RunsFace(self.asking, tokens))

    def add_explanations(self, tokens: Tokens | None) -> None:
        """Explain runs, at ``/runs`` and below ``/v1/workflows``: whoever may call is shown all of them."""
        from stretto.serve.faces.explaining import ExplainFace  # scipy, only where runs are explained

        max_s, own_only = self.desk.limits.max_call_s, self.own_pages_only
        self._faces.append(ExplainFace(self.workflows, tokens, max_s=max_s, own_only=own_only))

    def add_models(self, names: ChatNames, tokens: Tokens | None, *, must_fit: bool) -> None:
        """Answer as models. Raises UsageError for a workflow that a conversation does not fit, where all must."""
        for workflow in self.workflows:
            try:
                self.models[workflow.name] = chat_fields(workflow.plan, names.asked, names.answered)
            except UsageError as error:
                if must_fit:
                    raise
                self.unfit[workflow.name] = str(error)
        self._faces.append(ChatFace(self.asking, self.models, self.unfit, tokens))

    def add_tools(self, tokens: Tokens | None, *, is_local: bool) -> None:
        """Answer as an MCP server; `is_local` where only this machine reaches it."""
        from stretto.serve.faces.tools import ToolsFace  # its package is that of another extra

        face = ToolsFace(self.asking, tokens, is_local=is_local)
        self._faces.append(face)
        self._living.append(face)

    @property
    def beside(self) -> Beside:
        """What answers their paths, beside the protocol's own."""
        return partial(beside, self.asking, self._faces, own_pages_only=self.own_pages_only)

    @asynccontextmanager
    async def living(self) -> AsyncIterator[None]:
        """What they hold while they answer."""
        async with AsyncExitStack() as stack:
            for face in self._living:
                await stack.enter_async_context(face.living())
            yield
