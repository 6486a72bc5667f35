"""Which backend keeps a memory, as declared."""

from stretto.components.memory.backend import MemoryBackend
from stretto.components.memory.process import ProcessBackend
from stretto.components.memory.settings import BackendKind, MemorySettings


def backend_of(settings: MemorySettings, embedding: str) -> MemoryBackend:
    """The backend; nothing is opened. `embedding` names what its vectors are made by, empty when there are none."""
    if settings.backend is BackendKind.QDRANT:
        from stretto.components.memory.qdrant import QdrantBackend

        return QdrantBackend(settings, embedding)
    if settings.backend is not BackendKind.EMBEDDED:
        from stretto.components.memory.search_server import SearchServerBackend

        return SearchServerBackend(settings, embedding)
    if settings.path is None:
        return ProcessBackend(settings.keep)
    from stretto.components.memory.sqlite import SqliteBackend

    return SqliteBackend(settings.path, settings.name, settings.keep, embedding)
