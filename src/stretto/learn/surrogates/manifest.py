"""What a surrogate's file says of it."""

from typing import Final

import msgspec

from stretto.types.ids import Digest

FORMAT: Final = "stretto.surrogate/1"


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Beside the tensors."""

    step: str
    what: str
    """In words: what it foretells."""
    shown: dict[str, int]
    """What its network is shown, each of so many numbers."""
    told: tuple[str, ...]
    """What each of its answers is of."""
    digest: Digest
    """Of what it answers with."""
    whole: Digest = Digest("")
    """Of all tensors beside it."""
    parent: Digest
    """The saved one that it went on from; empty for one that began by itself."""
    learnt_of: Digest
    """Of what made the last rows that it learnt from."""
    rows: int
    """That it has learnt from."""
    updates: int
    behind: int
    """Rows that came since it last learnt."""
    scaled_at: int
    """Rows that its scales were settled at."""
    steps: int
    """Of its optimiser."""
    coefficient: float = 0.0
    is_of_runs: bool = False
    """What the coefficient was fitted on are recorded runs."""
    format: str = FORMAT
