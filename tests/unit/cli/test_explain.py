"""`stretto explain`: what made a run go as it did, for people, as a page, as JSON; and what it refuses."""

from pathlib import Path

import pytest
from msgspec.structs import replace

import stretto
from stretto.learn.explain.explained import FieldEffect
from stretto.learn.explain.words import rewards_text
from tests.unit.cli.conftest import Cli

COMPONENTS = """
from stretto import Context, component, reward

@component("offer", effects="pure", inline=True)
def offer(budget: int) -> dict[str, int | str]:
    return {"price": budget // 2, "colour": "<red>" if budget > 10 else "blue"}

@component("book", effects="write", inline=True)
def book(price: int) -> dict[str, int]:
    return {"paid": price}

@reward(inline=True)
def margin(price: int, colour: str, context: Context) -> tuple[float | None, str]:
    if context.reference is None:
        return None, "not known yet"
    return price + (100.0 if colour == context.reference else 0.0), "sold"
"""

WORKFLOW = """
stretto: 1
name: shop
components: components.py
steps:
  - {name: offer, component: offer, input_mapping: {budget: input.budget}}
  - {name: margin, component: margin, input_mapping: {price: steps.offer.price, colour: steps.offer.colour}}
output: {price: steps.offer.price}
"""

BOOKING = "  - {name: book, component: book, input_mapping: {price: steps.offer.price}}\n"


@pytest.fixture
def shop(folder: Path) -> Path:
    """Three runs, the last with a reward of 110."""
    (folder / "components.py").write_text(COMPONENTS)
    (folder / "shop.yaml").write_text(WORKFLOW)
    make(folder, (4, 8, 20))
    return folder


def make(folder: Path, budgets: tuple[int, ...], reference: str | None = "<red>") -> None:
    with stretto.load(folder / "shop.yaml", store=folder / ".stretto" / "runs.db") as workflow:
        for budget in budgets:
            workflow.run_sync({"budget": budget}, reference=reference)


def test_what_each_field_was_worth_is_told(cli: Cli, shop: Path) -> None:
    told = cli("explain", "last", "--workflow", "shop.yaml", "--json").document
    assert (told["reward"], told["compared"]) == (110.0, 2)
    (offer,) = told["steps"]  # the reward is what is explained, and not explained itself
    assert offer["choices"] == []
    assert {each["field"]: each["effect"] for each in offer["effects"]} == {"": 107.0, "colour": 100.0, "price": 7.0}


def test_people_read_it_in_lines_and_on_a_page(cli: Cli, shop: Path) -> None:
    said = cli("explain", "last", "--workflow", "shop.yaml", "--html", "why.html")
    told = " ".join(said.out.split())
    assert "ended ok with a reward of 110; it is held against 2 other runs." in told
    assert (
        'offer.colour = "<red>" gained it 100: with 1 other value of other runs in its place its reward would' in told
    )
    assert "+100.000" in said.out
    assert '"<red>"' in said.out
    page = (shop / "why.html").read_text()
    assert "&lt;red&gt;" in page
    assert "<red>" not in page
    assert "why.html" in said.err


READER = """
import torch
from torch import nn
import stretto

WORDS = ("please", "refund", "me", "now")

@stretto.differentiable("reader", context=["query"], chooses={"route": ("track", "pay_back")})
class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(4, 2)
        with torch.no_grad():
            self.words.weight.copy_(torch.tensor([[0.1, 0.0], [0.0, 3.0], [0.2, 0.1], [0.1, 0.3]]))

    def forward(self, query: list[str]) -> torch.Tensor:
        return self.words(torch.tensor([[WORDS.index(word) for word in text.split()] for text in query])).sum(1)

    def spell(self, ids: list[int]) -> list[str]:
        return [WORDS[each] for each in ids]
"""

READING = """
stretto: 1
name: desk
components: reader.py
steps: [{name: reader, component: reader, input_mapping: {query: input.query}}]
output: {route: steps.reader.route}
"""


def test_the_words_that_made_a_network_choose_are_shown(cli: Cli, folder: Path) -> None:
    (folder / "reader.py").write_text(READER)
    (folder / "desk.yaml").write_text(READING)
    with stretto.load(folder / "desk.yaml", store=folder / ".stretto" / "runs.db") as workflow:
        workflow.run_sync({"query": "please refund me now"}, seed=1)
    said = cli("explain", "last", "--workflow", "desk.yaml", "--html", "why.html")
    assert "words: please refund me now" in said.out
    (row,) = [line.split() for line in said.out.splitlines() if line.strip().startswith("words[1]")]
    assert row == ["words[1]", "=", "'refund'", "+1.500", "+1.500", "+1.500"]
    assert "all but 0.00% of it adds up." in " ".join(said.out.split())
    assert 'title="+1.5000"' in (folder / "why.html").read_text()


def test_nothing_is_kept(cli: Cli, shop: Path) -> None:
    before = cli("runs", "list", "--json").document
    cli("explain", "last", "--workflow", "shop.yaml")
    assert cli("runs", "list", "--json").document == before


def test_values_with_which_there_is_no_reward_are_told_in_the_same_words() -> None:
    some = FieldEffect(field="price", value=4, rewards=(0.9, 0.9), failed=3, effect=0.0)
    assert rewards_text(some) == "0.9 with 2 others, no reward with 3"
    assert rewards_text(replace(some, rewards=(), effect=None)) == "no reward with 3 others"


def test_a_run_without_a_reward_says_so(cli: Cli, shop: Path) -> None:
    make(shop, (6,), reference=None)
    said = cli("explain", "last", "--workflow", "shop.yaml")
    told = " ".join(said.out.split())
    assert "with no reward; it is held against 3 other runs." in told
    assert "What its answers were worth is not told" in told
    assert "a step of kind reward gives a run one" in told
    assert not any(line.startswith("offer") for line in said.out.splitlines())  # a step of which nothing is told


def test_an_answer_that_would_need_another_write_has_no_reward(cli: Cli, shop: Path) -> None:
    (shop / "shop.yaml").write_text(WORKFLOW.replace("output:", f"{BOOKING}output:"))
    make(shop, (4, 8, 20))
    told = cli("explain", "last", "--step", "offer", "--workflow", "shop.yaml", "--json").document
    effects = {each["field"]: each for each in told["steps"][0]["effects"]}
    assert (effects["price"]["effect"], effects["price"]["failed"]) == (None, 2)
    assert effects["colour"]["effect"] == 100.0


LOOPING = """
stretto: 1
name: shop
components: components.py
steps:
  - name: talk
    repeat:
      max_rounds: 3
      steps: [{name: aside, component: offer, input_mapping: {budget: input.budget}}]
  - {name: offer, component: offer, input_mapping: {budget: input.budget}}
  - {name: again, component: offer, input_mapping: {budget: steps.offer.price}}
  - {name: margin, component: margin, input_mapping: {price: steps.again.price, colour: steps.offer.colour}}
output: {price: steps.offer.price}
"""


def test_what_no_judge_reads_is_named_and_not_replayed(cli: Cli, shop: Path) -> None:
    (shop / "shop.yaml").write_text(LOOPING)
    make(shop, (4, 8, 20))
    told = cli("explain", "last", "--workflow", "shop.yaml", "--json").document
    steps = {step["path"]: step for step in told["steps"]}
    assert {path for path, step in steps.items() if step["is_unread"]} == {
        f"talk[{number}]/aside" for number in (1, 2, 3)
    }
    assert steps["talk[1]/aside"]["effects"] == []
    assert {each["field"]: each["effect"] for each in steps["offer"]["effects"]}["colour"] == 100.0
    assert {each["field"]: each["effect"] for each in steps["again"]["effects"]}["price"] == 3.5
    assert any("reads what these answered: talk[*]/aside (3)." in each for each in told["summary"])
    assert "none came to a reward: talk[*]/aside (3)" in cli("explain", "last", "--workflow", "shop.yaml").out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("last", "--step", "ofer"), "did you mean 'offer'?"),
        (("last", "--workflow", "trip.yaml"), "trip.yaml"),
        (("0000", "--workflow", "shop.yaml"), "no run has an id"),
        (("last", "--workflow", "shop.yaml", "--tried", "0"), "--tried"),
    ],
)
def test_what_cannot_be_explained_is_refused(cli: Cli, shop: Path, arguments: tuple[str, ...], says: str) -> None:
    if "--workflow" not in arguments:
        arguments = (*arguments, "--workflow", "shop.yaml")
    said = cli("explain", *arguments)
    assert said.code == 2
    assert says in said.err


def test_a_run_of_another_workflow_is_refused(cli: Cli, shop: Path) -> None:
    (shop / "other.yaml").write_text(WORKFLOW.replace("name: shop", "name: other"))
    said = cli("explain", "last", "--workflow", "other.yaml")
    assert said.code == 2
    assert "is of workflow 'shop', and this file declares 'other'" in said.err


def test_a_page_that_cannot_be_written_is_told(cli: Cli, shop: Path) -> None:
    said = cli("explain", "last", "--workflow", "shop.yaml", "--html", "no/where/why.html")
    assert "cannot write no/where/why.html: No such file or directory; name a file that can be written" in said.err
    assert said.code != 0
