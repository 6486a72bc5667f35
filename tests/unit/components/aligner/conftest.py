"""An aligner that knows three values."""

import pytest

from stretto.components.aligner.model import AlignerModel
from stretto.learn.semantics.samples import Sample
from stretto.learn.semantics.train import train_first

SAID = {
    "track": ["where is my parcel", "track my order", "where has my package got to", "my parcel is late"],
    "cancel": ["cancel my order", "stop the order please", "i do not want the order", "cancel it now"],
    "refund": ["i want my money back", "refund me please", "give me a refund", "pay the money back"],
}


@pytest.fixture(scope="session")
def model() -> AlignerModel:
    samples = [Sample(text=text, value=value) for value, texts in SAID.items() for text in texts]
    return train_first("intent", list(SAID), samples, trained_at="2026-11-30T00:00:00+00:00", source=["said.csv"])
