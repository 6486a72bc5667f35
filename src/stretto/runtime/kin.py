"""What workflows share that were made from one another."""

import threading
from weakref import WeakKeyDictionary

from stretto.engine.protections import Protections
from stretto.engine.standby import Standbys
from stretto.runtime.blocking import OwnLoop
from stretto.runtime.following import Following
from stretto.runtime.opening import Opening, Shared


class Kin:
    """What a workflow has in common with those made from it: what is open, what protects components, who looks for
    settings, and who blocks in which event loop."""

    def __init__(self) -> None:
        self.shared = Shared()
        self.protections = Protections()
        self.standbys = Standbys()
        self.following = Following()
        self._loops: WeakKeyDictionary[Opening, OwnLoop] = WeakKeyDictionary()
        self._joining = threading.Lock()

    def join(self, opening: Opening) -> OwnLoop:
        """The loop for a workflow's calls that block: that of one which shares components with it, else its own."""
        with self._joining:
            shared = (loop for other, loop in self._loops.items() if other.shares_with(opening))
            return self._loops.setdefault(opening, next(shared, None) or OwnLoop(self.shared.close))
