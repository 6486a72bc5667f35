"""What the bank's workflow calls: its core API, an adviser, and the words of the reply."""

import os
from typing import Final, TypedDict

import aiohttp

import stretto

CORE_API: Final = "BANK_CORE_API"
"""Environment variable: where the core API is. `demo.py` starts one."""

BOLD: Final = {"low": "savings_plan", "medium": "bond_fund", "high": "index_fund"}
"""What the adviser thinks of when nothing in the question tempts it."""


class Account(TypedDict):
    """What the core API tells of an account. When its format changes, it no longer fits this."""

    account: str
    balance: float
    currency: str


@stretto.component("core-api", "1.0.0", effects="read")
class CoreApi:
    """Asks the bank's core API over HTTP."""

    async def open(self) -> None:
        self._session = aiohttp.ClientSession()

    async def close(self) -> None:
        await self._session.close()

    async def __call__(self, account: str) -> Account:
        """Hand on what the API answers as it is: the hint of this function is what holds it to its form."""
        base = os.environ.get(CORE_API, "http://127.0.0.1:8400")
        try:
            async with self._session.get(f"{base}/accounts/{account}") as response:
                response.raise_for_status()
                told: Account = await response.json()
                return told
        except aiohttp.ClientError as error:
            raise stretto.ComponentError(f"the core API does not answer: {error}", stretto.Code.UNAVAILABLE) from error


class Advice(TypedDict):
    """A product by its name, whatever products there are in the world."""

    product: str


@stretto.component("advisor", "1.0.0", effects="pure", inline=True)
def advise(question: str, risk: str, balance: float) -> Advice:
    """A model would stand here. Like one, it can be talked into what the bank does not sell."""
    if "crypto" in question.casefold():
        return {"product": "crypto_fund"}
    return {"product": "savings_plan" if balance < 500 else BOLD[risk]}


class Reply(TypedDict):
    """What the customer reads."""

    text: str


@stretto.component("reply", "1.0.0", effects="pure", inline=True)
def reply(topic: str, balance: float, product: str | None) -> Reply:
    """The adviser's product, or the balance, in words."""
    if product is not None:
        return {"text": f"For your {balance:,.2f} we recommend: {product.replace('_', ' ')}."}
    if topic == "card_lost":
        return {"text": "Your card is locked, and a new one is on its way to you."}
    return {"text": f"Your balance is {balance:,.2f}."}
