"""Which backend keeps a memory, as declared."""

from importlib.util import find_spec

from stretto.components.memory.backend import MemoryBackend
from stretto.components.memory.process import ProcessBackend
from stretto.components.memory.settings import BackendKind, MemorySettings
from stretto.types.errors import MissingExtraError


def backend_of(settings: MemorySettings, embedding: str) -> MemoryBackend:
    """The backend; nothing is opened. `embedding` names what its vectors are made by, empty when there are none.

    Raises MissingExtraError when a package for it is not there.
    """
    if settings.backend is BackendKind.QDRANT:
        if find_spec("qdrant_client") is None:
            raise MissingExtraError("a memory in Qdrant", "qdrant")
        from stretto.components.memory.qdrant import QdrantBackend

        return QdrantBackend(settings, embedding)
    if settings.backend is not BackendKind.EMBEDDED:
        from stretto.components.memory.search_server import SearchServerBackend

        return SearchServerBackend(settings, embedding)
    if settings.path is None:
        return ProcessBackend(settings.keep)
    from stretto.components.memory.sqlite import SqliteBackend

    return SqliteBackend(settings.path, settings.name, settings.keep, embedding)
