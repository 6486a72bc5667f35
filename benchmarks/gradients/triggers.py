"""Does an explanation name the word that decided? Routers that learnt texts in which one phrase decides.

Shape letters: B texts, T tokens.
"""

from statistics import fmean
from typing import Annotated, Final, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

import stretto
from stretto import Shape
from stretto.components.python.decorator import component_of
from stretto.components.torch.component import TorchComponent
from stretto.learn.explain.choice import explain_choice
from stretto.types.learning import Action

WORDS: Final = 200
LENGTH: Final = 12
ROUTES: Final = ("track", "pay_back", "person")

PHRASES: Final = ((7, 8), (31, 32), (55, 56))
"""Of two words each; which stands in a text decides its route."""

SEEDS: Final = 5
ASKED: Final = 100
"""Texts of each router that are explained."""

UPDATES: Final = 300


class Reader(nn.Module):
    """A transformer of one layer over 12 words."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, 32)
        self.places = nn.Parameter(torch.randn(LENGTH, 32) * 0.1)
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.route = nn.Linear(32, len(ROUTES))

    def forward(self, query: Annotated[Tensor, Shape(LENGTH, dtype="int64")]) -> Tensor:
        logits: Tensor = self.route(self.layer(self.words(query) + self.places).mean(1))
        return logits


def trigger_figures() -> dict[str, float]:
    """`explain_top1`: texts whose first part is of the phrase; `explain_completeness`: the largest residual."""
    right, residuals = [], []
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        reader = _taught(Reader(), seed)
        for ids_T, route in zip(*_texts(ASKED, seed + SEEDS), strict=True):
            told = explain_choice(reader, {"query": ids_T.tolist()}, _action(int(route)))
            right.append(float(int(told.parts[0].text) in PHRASES[int(route)]))
            residuals.append(told.residual)
    return {"explain_top1": fmean(right), "explain_completeness": max(residuals)}


def _taught(module: Reader, seed: int) -> TorchComponent:
    optimiser = torch.optim.Adam(module.parameters(), lr=3e-3)
    for update in range(UPDATES):
        texts_BT, routes_B = _texts(64, 1_000 * (seed + 1) + update)
        optimiser.zero_grad()
        loss: Tensor = cross_entropy(module(texts_BT), routes_B)
        torch.autograd.backward(loss)
        optimiser.step()
    declared = stretto.differentiable("reader", context=["query"], chooses={"route": ROUTES})(module.eval())
    return cast("TorchComponent", component_of(declared))


def _texts(number: int, seed: int) -> tuple[Tensor, Tensor]:
    """Random words, none of a phrase, with one phrase at a random place."""
    source = torch.Generator().manual_seed(seed)
    plain = torch.tensor([word for word in range(WORDS) if not any(word in phrase for phrase in PHRASES)])
    texts_BT = plain[torch.randint(len(plain), (number, LENGTH), generator=source)]
    routes_B = torch.randint(len(ROUTES), (number,), generator=source)
    at_B = torch.randint(LENGTH - 1, (number,), generator=source)
    pairs_B = torch.tensor(PHRASES)[routes_B]
    for offset in range(2):
        texts_BT[torch.arange(number), at_B + offset] = pairs_B[:, offset]
    return texts_BT, routes_B


def _action(route: int) -> Action:
    return Action(name="route", chosen=ROUTES[route], support=ROUTES, logprob=0.0, propensity=1.0, policy="")
