"""A policy's weights: one row of K numbers for each feature that was ever learnt from, and their checkpoint file.

Shape letters: F features (buckets), K columns (alternatives, and one more with `about`), N rows that are not zero.

A checkpoint ``<digest>.safetensors`` holds ``rows`` (int64, N, rising) and ``values`` (float64, N by K), and as
metadata what they mean. Rows that are zero are left out: a fresh policy is an empty file, a trained one some
hundred kilobytes. float64 throughout, so that the weights that act are the ones that were learnt, bit for bit.
"""

from functools import cached_property
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np
import numpy.typing as npt

from stretto.components.policy_spec import FORMAT, PolicySpec, weights_digest
from stretto.components.tensor_file import read_tensors, write_tensors
from stretto.types.errors import StoreError, UsageError
from stretto.types.ids import Digest

Floats = npt.NDArray[np.float64]


class PolicyWeights:
    """Weights with their meaning and digest; never changed once made."""

    def __init__(self, spec: PolicySpec, rows_N: npt.NDArray[np.int64], values_NK: Floats) -> None:
        self.spec = spec
        self.rows_N = rows_N
        self.values_NK = values_NK

    @classmethod
    def from_dense(cls, spec: PolicySpec, dense_FK: Floats) -> Self:
        """Keep the rows that are not zero; a copy."""
        shape = (spec.features.buckets, spec.columns)
        if dense_FK.shape != shape:
            raise UsageError(f"weights have shape {dense_FK.shape}; buckets and alternatives make it {shape}")
        return cls.from_rows(spec, np.arange(len(dense_FK)), dense_FK)

    @classmethod
    def from_rows(cls, spec: PolicySpec, rows_N: npt.NDArray[np.int64], values_NK: Floats) -> Self:
        """Keep those of the rows, rising, that are not zero; a copy."""
        kept_N = values_NK.any(axis=1)
        return cls(spec, rows_N[kept_N].astype(np.int64), values_NK[kept_N].astype(np.float64))

    @classmethod
    def zero(cls, spec: PolicySpec) -> Self:
        """Weights under which the prior decides alone."""
        return cls(spec, np.zeros(0, np.int64), np.zeros((0, spec.columns)))

    @cached_property
    def dense_FK(self) -> Floats:
        """All rows; read-only."""
        dense_FK = np.zeros((self.spec.features.buckets, self.spec.columns))
        dense_FK[self.rows_N] = self.values_NK
        dense_FK.flags.writeable = False
        return dense_FK

    @cached_property
    def digest(self) -> Digest:
        """Of meaning and numbers, not of the file's bytes: the same whichever release wrote the file."""
        return weights_digest(self.spec, self.rows_N.astype("<i8").tobytes(), self.values_NK.astype("<f8").tobytes())

    def save(self, folder: Path) -> Path:
        """Write ``<digest>.safetensors`` into the folder, whole or not at all; returns its path."""
        path = folder / f"{self.digest}.safetensors"
        tensors = {"rows": self.rows_N, "values": np.ascontiguousarray(self.values_NK)}
        write_tensors(path, tensors, self.spec.header)
        return path

    @classmethod
    def load(cls, path: Path, spec: PolicySpec) -> Self:
        """Read a checkpoint made for an equal spec.

        Raises UsageError when it was made for another policy, StoreError when the file is not whole.
        """
        tensors, header = read_tensors(path)
        _check_meaning(path, header, spec)
        _check_arrays(path, tensors, spec)
        weights = cls(spec, tensors["rows"], tensors["values"])
        named = path.name.removesuffix(".safetensors")
        if len(named) == len(weights.digest) and named != weights.digest:
            raise StoreError(
                f"checkpoint {path} holds the weights {weights.digest[:8]}, not those of its name: the file was "
                "changed or renamed. Restore it, or train again"
            )
        return weights


def _check_meaning(path: Path, header: bytes, spec: PolicySpec) -> None:
    try:
        found = msgspec.json.decode(header, type=PolicySpec)
    except msgspec.MsgspecError as error:
        raise UsageError(f"{path} is a safetensors file, but not a policy's checkpoint ({FORMAT}): {error}") from error
    for name, has, wants in (
        ("format", found.format, spec.format),
        ("alternatives", list(found.alternatives), list(spec.alternatives)),
        ("prior", list(found.prior), list(spec.prior)),
        ("features", msgspec.to_builtins(found.features), msgspec.to_builtins(spec.features)),
    ):
        if has != wants:
            raise UsageError(
                f"checkpoint {path} was made for another policy: its {name} are {has}, the component's are {wants}. "
                "Give the component the options that the checkpoint was trained with, or train again"
            )


def _check_arrays(path: Path, tensors: dict[str, npt.NDArray[Any]], spec: PolicySpec) -> None:
    rows, values = tensors.get("rows"), tensors.get("values")
    if rows is None or values is None or rows.dtype != np.int64 or values.dtype != np.float64 or rows.ndim != 1:
        found = {name: f"{array.dtype}{list(array.shape)}" for name, array in tensors.items()}
        raise StoreError(f"checkpoint {path} holds {found}; expected rows: int64[N] and values: float64[N, K]")
    shape = (len(rows), spec.columns)
    if values.shape != shape:
        raise StoreError(f"checkpoint {path} has values of shape {values.shape}; expected {shape}. Train again")
    in_range = len(rows) == 0 or (rows[0] >= 0 and rows[-1] < spec.features.buckets and bool(np.all(np.diff(rows) > 0)))
    if not in_range or not np.isfinite(values).all():
        raise StoreError(
            f"checkpoint {path} has rows outside 0 to {spec.features.buckets - 1} or out of order, or values that "
            "are not finite. Train again"
        )
