"""Five networks that read a card holder's account, and two judges of what became of it.

Shape letters: B accounts, D the width of a state.
"""

import math
from typing import Annotated, Any, Final, TypedDict

import torch
from torch import Tensor, nn, xlogy
from torch.nn.functional import gelu

import stretto
from stretto import Shape

DECISIONS: Final = ("approve", "refer", "decline")

UTILITY: Final = {
    "approve": {False: 1.0, True: -4.0},
    "refer": {False: 0.4, True: -0.5},
    "decline": {False: 0.0, True: 0.0},
}
"""Of an outcome, by whether the card holder defaults, in months of the bank's margin. A person who is asked costs 0.2,
loses a third of the good ones and finds most of the bad."""

SUREST: Final = 1e-6
"""A risk below it is scored as this: a single card holder who was thought certain teaches no more than 14."""

MONTHS: Final = 6
FACTS: Final = 10
STATUS: Final = 5
MONEY: Final = 3
WIDTH: Final = 16
CODE: Final = 8

Facts = Annotated[Tensor, Shape(FACTS)]
Months = Annotated[Tensor, Shape(MONTHS, STATUS)]
Money = Annotated[Tensor, Shape(MONTHS, MONEY)]
State = Annotated[Tensor, Shape(WIDTH)]
Number = Annotated[Tensor, Shape()]


class Features(TypedDict):
    """Of an account: scaled for the networks, and counted for the tables of rules."""

    facts: list[float]
    months: list[list[float]]
    money: list[list[float]]
    now: int
    worst: int
    late: int
    over_limit: int
    negative: int


@stretto.component("features", "1.0.0", effects="pure", inline=True)
def features(account: dict[str, Any], person: dict[str, Any] | None = None) -> Features:
    """Scale an account for the networks, and count what the tables of rules ask about."""
    limit, status, bills, paid = account["limit"], account["status"], account["bills"], account["paid"]
    late = [max(0, months) for months in status]
    return {
        "facts": [math.log(limit / 1e5), *_education(account["education"]), *_person(person)],
        "months": [
            [months / 2, float(months > 0), float(months >= 2), float(known == -1), float(known == -2)]
            for months, known in zip(late, status, strict=True)
        ],
        "money": [
            [_within(bill / limit), math.log1p(sum_) / 10, _within(sum_ / max(bill, 1.0))]
            for bill, sum_ in zip(bills, paid, strict=True)
        ],
        "now": late[0],
        "worst": max(late),
        "late": sum(months > 0 for months in late),
        "over_limit": sum(bill > limit for bill in bills),
        "negative": sum(bill < 0 for bill in bills),
    }


def _within(ratio: float) -> float:
    return min(2.0, max(-2.0, ratio))


def _education(code: int) -> list[float]:
    return [float(code == 1), float(code == 2), float(code == 3), float(code not in (1, 2, 3))]


def _person(person: dict[str, Any] | None) -> list[float]:
    """Nothing of a person is five zeros, as no card holder's are."""
    if person is None:
        return [0.0] * 5
    married = person["marriage"]
    return [1.0, float(person["sex"]) - 1.5, (person["age"] - 35) / 10, float(married == 1), float(married == 2)]


class Read(TypedDict):
    state: State


class Known(TypedDict):
    state: Annotated[Tensor, Shape(CODE)]
    surprise: Number


class Routed(TypedDict):
    decision: Tensor
    risk: Number


class Taught(TypedDict):
    calibration: Number
    surprise: Number


@stretto.differentiable("applicant", "1.0.0", inputs=["facts"])
class Applicant(nn.Module):
    """Embeds who asks."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(FACTS, WIDTH)

    def forward(self, facts: Facts) -> Read:
        return {"state": gelu(self.net(facts))}


@stretto.differentiable("repayment", "1.0.0", inputs=["months"])
class Repayment(nn.Module):
    """Reads how late each month was, the oldest first."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.GRU(STATUS, WIDTH, batch_first=True)

    def forward(self, months: Months) -> Read:
        states_BMD, _ = self.net(months.flip(1))
        return {"state": states_BMD[:, -1]}


@stretto.differentiable("cashflow", "1.0.0", inputs=["money"])
class CashFlow(nn.Module):
    """Reads bills and payments."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Linear(MONTHS * MONEY, WIDTH)

    def forward(self, money: Money) -> Read:
        return {"state": gelu(self.net(money.flatten(1)))}


@stretto.differentiable("anomaly", "1.0.0", inputs=["facts", "months", "money"])
class Anomaly(nn.Module):
    """An autoencoder: what it cannot tell again is out of the ordinary."""

    def __init__(self) -> None:
        super().__init__()
        width = FACTS + MONTHS * (STATUS + MONEY)
        self.encoder = nn.Linear(width, CODE)
        self.decoder = nn.Linear(CODE, width)

    def forward(self, facts: Facts, months: Months, money: Money) -> Known:
        seen = torch.cat([facts, months.flatten(1), money.flatten(1)], 1)
        code = gelu(self.encoder(seen))
        return {"state": code, "surprise": ((self.decoder(code) - seen) ** 2).mean(1)}


@stretto.differentiable(
    "router",
    "1.0.0",
    inputs=["applicant", "repayment", "cashflow", "anomaly", "severity", "doubt"],
    chooses={"decision": DECISIONS},
)
class Router(nn.Module):
    """Fuses the states into one calibrated risk, and decides by what the bank may expect of each decision."""

    price: Tensor

    def __init__(self) -> None:
        super().__init__()
        read = nn.Linear(3 * WIDTH + CODE + 2, 2 * WIDTH)
        self.net = nn.Sequential(nn.Dropout(0.1), read, nn.GELU(), nn.Dropout(0.4))
        self.risk = nn.Linear(2 * WIDTH, 1)
        price = torch.tensor([[UTILITY[each][bad] for each in DECISIONS] for bad in (False, True)])
        self.register_buffer("price", price)  # the bank's own: free prices took more runs to come to less
        self.sharpness = nn.Parameter(torch.tensor(2.0))

    def forward(
        self,
        applicant: State,
        repayment: State,
        cashflow: State,
        anomaly: Annotated[Tensor, Shape(CODE)],
        severity: Number,
        doubt: Number,
    ) -> Routed:
        read = torch.cat([applicant, repayment, cashflow, anomaly, severity[:, None], doubt[:, None]], 1)
        risk = torch.sigmoid(self.risk(self.net(read)))
        expected = (1 - risk) * self.price[0] + risk * self.price[1]
        return {"decision": expected * self.sharpness.exp(), "risk": risk[:, 0]}


@stretto.differentiable("bank", "1.0.0", context=["outcome", "reference"], rewards=["utility"], inline=True)
def bank(outcome: list[str], reference: list[dict[str, bool] | None]) -> Annotated[Tensor, Shape(dtype="float64")]:
    """What the outcome came to; unknown until it is known whether the card holder defaulted."""
    worth = [
        math.nan if known is None else UTILITY[what][known["defaulted"]]
        for what, known in zip(outcome, reference, strict=True)
    ]
    return torch.tensor(worth, dtype=torch.float64)


@stretto.differentiable(
    "teacher",
    "1.0.0",
    inputs=["risk", "surprise"],
    context=["reference"],
    rewards=["calibration", "surprise"],
    inline=True,
)
def teacher(risk: Number, surprise: Number, reference: list[dict[str, bool] | None]) -> Taught:
    """The risk's log score (Good 1952), unknown until it is known who defaulted; and what the autoencoder could not
    tell."""
    defaulted = torch.tensor([math.nan if known is None else float(known["defaulted"]) for known in reference])
    sure = risk.clamp(SUREST, 1 - SUREST)
    return {"calibration": xlogy(defaulted, sure) + xlogy(1 - defaulted, 1 - sure), "surprise": surprise}
