"""Kind ``exec``: a command-line program, by its declaration alone."""

from stretto.components.exec.component import ExecProgram
from stretto.components.exec.declared_field import Field, FieldType, Justify
from stretto.components.exec.message import Format, LineEnd, Message
from stretto.components.exec.picture import read_picture
from stretto.components.exec.settings import Lifetime
from stretto.components.exec.zoned import Overpunch

__all__ = [
    "ExecProgram",
    "Field",
    "FieldType",
    "Format",
    "Justify",
    "Lifetime",
    "LineEnd",
    "Message",
    "Overpunch",
    "read_picture",
]
