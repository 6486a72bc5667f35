"""Reads an aligner's file, and refuses what is damaged, foreign, or about another domain."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.components.aligner.labels import Labels
from stretto.components.aligner.meta import ENCODING, FORMAT, AlignerMeta, check_range, values_digest
from stretto.components.aligner.model import AlignerModel
from stretto.components.tensor_file import read_tensors
from stretto.types.errors import StoreError, UsageError

_AGAIN = "Copy it again, or train again: stretto semantics train"


def read_aligner(path: Path) -> AlignerModel:
    """The aligner that a file holds, whichever domain it is about.

    Raises UsageError when there is no such file, or it is no aligner's of this release; StoreError when it is damaged.
    """
    tensors, header = read_tensors(path)
    meta = _meta(path, header)
    _check_arrays(path, tensors, meta)
    labels = Labels(tensors["labelled"], tensors["labels"])
    return AlignerModel(meta, tensors["hashes"], tensors["idf"], tensors["weights"], tensors["intercepts"], labels)


def check_domain(path: Path, meta: AlignerMeta, domain: str, values: Sequence[str]) -> None:
    """Raise UsageError, with what differs, when a file is about another domain or about other values."""
    if meta.domain != domain:
        raise UsageError(
            f"aligner {path} was trained for the domain '{meta.domain}', not for '{domain}'. Name the file that was "
            f"trained for '{domain}', or train one: stretto semantics train --domain {domain}"
        )
    if meta.values_digest == values_digest(values):
        return
    lacks, extra = sorted(set(values) - set(meta.values)), sorted(set(meta.values) - set(values))
    differs = [f"it does not know {', '.join(lacks)}"] if lacks else []
    differs += [f"it may answer {', '.join(extra)}, which the domain has not"] if extra else []
    raise UsageError(
        f"aligner {path} was trained for other values of the domain '{domain}': {'; '.join(differs)}. "
        f"Train one for the values as they are: stretto semantics train --domain {domain}"
    )


def _meta(path: Path, header: bytes) -> AlignerMeta:
    try:
        meta = msgspec.json.decode(header, type=AlignerMeta)
    except msgspec.MsgspecError as error:
        raise UsageError(f"{path} is a safetensors file, but not an aligner's ({FORMAT}): {error}") from error
    if (meta.format, meta.encoding) != (FORMAT, ENCODING):
        raise UsageError(
            f"aligner {path} has the form {meta.format} with {meta.encoding}; this release reads {FORMAT} with "
            f"{ENCODING}. Train again: stretto semantics train"
        )
    if wrong := check_range(meta):
        raise StoreError(f"aligner {path} holds {wrong}. {_AGAIN}")
    return meta


def _check_arrays(path: Path, tensors: dict[str, npt.NDArray[Any]], meta: AlignerMeta) -> None:
    hashes = tensors.get("hashes", np.zeros(0))
    n, c, labelled = len(hashes), len(meta.classes), len(tensors.get("labelled", np.zeros(0)))
    expected: dict[str, tuple[str, tuple[int, ...]]] = {
        "hashes": ("uint32", (n,)),
        "idf": ("float32", (n,)),
        "weights": ("float32", (n, c)),
        "intercepts": ("float32", (c,)),
        "labelled": ("uint64", (labelled,)),
        "labels": ("int32", (labelled,)),
    }
    found = {name: (str(array.dtype), array.shape) for name, array in tensors.items()}
    if found != expected:
        raise StoreError(f"aligner {path} holds the arrays {_shapes(found)}; expected {_shapes(expected)}. {_AGAIN}")
    finite = all(np.isfinite(tensors[name]).all() for name in ("idf", "weights", "intercepts"))
    if not finite or not np.all(np.diff(hashes.astype(np.int64)) > 0):
        raise StoreError(f"aligner {path} holds n-grams out of order, or weights that are not finite. {_AGAIN}")
    texts, labels = tensors["labelled"], tensors["labels"]
    if not np.all(texts[1:] > texts[:-1]) or not np.all((labels >= 0) & (labels < c)):
        raise StoreError(f"aligner {path} holds labels out of order, or of values that it does not know. {_AGAIN}")


def _shapes(arrays: dict[str, tuple[str, tuple[int, ...]]]) -> str:
    return ", ".join(f"{name}: {dtype}{list(shape)}" for name, (dtype, shape) in sorted(arrays.items())) or "none"
