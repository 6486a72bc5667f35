"""Kind ``memory``: what was learnt from earlier runs, by how recent it is and by what it says."""

from stretto.components.memory.component import RecencyMemory
from stretto.components.memory.settings import MemorySearch

__all__ = ["MemorySearch", "RecencyMemory"]
