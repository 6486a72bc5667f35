"""The calls of one run as conversations: which goes on with which, and on what branch it stands.

A call whose messages are those of an earlier call, its answer and more goes on with that one. One that does not opens a
branch: another system prompt, an edited history, a second question from the same place, or one while the first is
still under way. A call that failed is asked again where it stood.
"""

import re
from collections.abc import Sequence
from typing import Final

from stretto.serve.gateway.said import Said
from stretto.types.ids import StepPath
from stretto.types.learning import Array

AGENT: Final = "agent"
"""Name of a branch when the agent gives none."""


class Turn:
    """One answer of a call that was answered."""

    __slots__ = ("branch", "fields", "form", "length", "path", "tokens")

    def __init__(
        self, place: "Place", said: Said, fields: dict[str, bytes], tokens: tuple[Array | None, Array | None]
    ) -> None:
        self.path = place.path
        self.branch = place.branch
        self.length = said.length
        """Of what the call said: so much of it, a call that goes on need not say again."""
        self.form = said.form_of(said.length)
        self.fields = fields
        """Digests of its long fields."""
        self.tokens = tokens
        """Ids of its prompt and of this answer, as far as the server told them."""


class Branch:
    """One conversation."""

    __slots__ = ("agent", "busy", "count", "failed", "name", "tip")

    def __init__(self, name: str, agent: str) -> None:
        self.name = name
        self.agent = agent
        """Who speaks on it; a second branch of the same has a number behind its name."""
        self.count = 0
        """Calls that were placed on it."""
        self.tip: StepPath | None = None
        """The last call that was answered."""
        self.busy = False
        self.failed = b""
        """What was asked by its last call when that failed; empty when it did not."""


class Place:
    """Where a call stands while it is under way, and afterwards."""

    __slots__ = ("branch", "parent", "path")

    def __init__(self, branch: Branch, parent: Turn | None) -> None:
        self.branch = branch
        self.parent = parent
        """The answer that it goes on with."""
        self.path = StepPath(f"{branch.name}[{branch.count}]")
        branch.count += 1
        branch.busy = True


class Turns:
    """All conversations of one run."""

    def __init__(self) -> None:
        self._ends: dict[tuple[str, bytes], Turn] = {}
        """By the meaning of what was said until and with an answer."""
        self._lengths: dict[str, set[int]] = {}
        self._branches: dict[str, Branch] = {}

    @property
    def branches(self) -> int:
        """How many there are."""
        return len(self._branches)

    def place(self, said: Said, agent: str = "") -> Place:
        """Where a new call stands; the place is taken until `answered` or `failed`."""
        parent = self._before(said)
        return Place(self._branch(parent, said, agent), parent)

    def answered(self, place: Place, said: Said, ends: Sequence[tuple[tuple[int, bytes], Turn]]) -> None:
        """Take note of the answers of a call: each may be gone on with."""
        place.branch.busy, place.branch.tip, place.branch.failed = False, place.path, b""
        for (length, meaning), turn in ends:
            self._ends[said.field, meaning] = turn
            self._lengths.setdefault(said.field, set()).add(length)

    def failed(self, place: Place, said: Said) -> None:
        """Free the place of a call that got no answer."""
        place.branch.busy, place.branch.failed = False, said.whole

    def stood(self, path: str) -> Place:
        """The place of a call that was recorded by an earlier process."""
        name, _, index = path.partition("[")
        branch = self._branches.setdefault(name, Branch(name, re.sub(r"-\d+$", "", name)))
        branch.count = int(index.rstrip("]"))
        return Place(branch, None)

    def _before(self, said: Said) -> Turn | None:
        """The longest of what was said and answered that this begins with."""
        lengths = self._lengths.get(said.field)
        if not lengths:
            return None
        found = (self._ends.get((said.field, meaning)) for _, meaning in said.beginnings(lengths))
        return next((turn for turn in found if turn is not None), None)

    def _branch(self, parent: Turn | None, said: Said, agent: str) -> Branch:
        if parent is not None:
            branch = parent.branch
            if not branch.busy and branch.tip == parent.path:
                return branch
            agent = agent or branch.agent
        return self._open(agent or AGENT, said)

    def _open(self, agent: str, said: Said) -> Branch:
        """A new branch, or one on which the same was asked in vain and nothing was answered."""
        for branch in self._branches.values():
            is_free = branch.agent == agent and branch.tip is None and not branch.busy
            if is_free and branch.failed == said.whole:
                return branch
        names = (agent if number == 1 else f"{agent}-{number}" for number in range(1, len(self._branches) + 2))
        name = next(name for name in names if name not in self._branches)
        return self._branches.setdefault(name, Branch(name, agent))
