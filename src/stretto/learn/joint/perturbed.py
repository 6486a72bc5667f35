"""What a joint training perturbs, in words by which a resumed one is held to it."""

from collections.abc import Mapping
from pathlib import Path

from stretto.learn.adversity.perturbation import Perturbation, Version
from stretto.types.ids import digest_of


def described(perturb: Mapping[str, Perturbation]) -> dict[str, str]:
    """Of each component that is perturbed, how."""
    return {name: _told(each) for name, each in sorted(perturb.items())}


def _told(asked: Perturbation) -> str:
    worse = ", ".join(_version(each) for each in asked.worse)
    noise = f"noise {asked.noise} on {asked.noise_on}" if asked.noise else ""
    parts = [noise, f"worse: {worse}" if worse else "", "random" if asked.random else ""]
    return "; ".join([f"share {asked.share}", *(part for part in parts if part)])


def _version(version: Version) -> str:
    """A component by its digest; a checkpoint by its path, and by its content where there is one."""
    if not isinstance(version, str | Path):
        return str(version.card.digest)
    path = Path(version)
    return f"{path} ({digest_of(path.read_bytes())[:8]})" if path.is_file() else str(path)
