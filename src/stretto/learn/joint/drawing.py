"""All that is drawn in a joint training, from (seed, place): nothing has to be remembered of any generator."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b

import numpy as np
import torch


@contextmanager
def drawing(seed: int, place: str) -> Iterator[None]:
    """Let torch, numpy and `random` draw by (seed, place) inside, such as for dropout, and outside as they did."""
    key = int.from_bytes(blake2b(f"{seed}/{place}".encode(), digest_size=8).digest(), "little") >> 1
    before, before_numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng():
        torch.manual_seed(key)
        random.seed(key)
        np.random.seed(key % 2**32)
        try:
            yield
        finally:
            random.setstate(before)
            np.random.set_state(before_numpy)
