"""The second interpreter of a Plan: a batch of runs at a time, with tensors kept, as an ``nn.Module``.

A batch has one frame, whose slots hold columns (`columns`): what all its runs have at one place.
"""

from typing import Final

CHECK_REMOTE: Final = 64
"""Of so many rows whose gradient comes from elsewhere one is checked by default: two calls more in sixty-four."""
