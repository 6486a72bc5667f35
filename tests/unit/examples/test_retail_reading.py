"""What the words of a customer are read to say."""

import pytest
from resolving.addresses import written
from resolving.payments import stated
from words.brief import read
from words.events import Intent
from words.values import told_values


def test_a_customer_is_known_by_name_zip_email_and_user_id() -> None:
    brief = read("You are Mei Davis in zip code 80217, mei.davis@example.com. Your user id is mei_davis_8935.")
    assert brief.names == (("Mei", "Davis"),)
    assert brief.zips == ("80217",)
    assert brief.emails == ("mei.davis@example.com",)


def test_the_zip_code_of_the_home_comes_before_others() -> None:
    assert read("Say 98178 first. You live in Seattle WA 98187.").zips == ("98187", "98178")


def test_order_ids_are_read_with_and_without_their_signs() -> None:
    assert read("Orders #W2378156, W4284542 and 9502127").order_ids == ("#W2378156", "#W4284542", "#W9502127")


def test_item_ids_are_no_order_ids_and_no_zip_codes() -> None:
    brief = read("Change it to item 4107812777.")
    assert (brief.item_ids, brief.order_ids, brief.zips) == (("4107812777",), (), ())


@pytest.mark.parametrize(
    ("words", "intents"),
    [
        ("You want to return the lamp and exchange the mouse.", [Intent.RETURN, Intent.CHANGE]),
        ("You want to cancel the grill, but keep the lamp.", [Intent.CANCEL, Intent.KEEP]),
        ("The bicycle needs to be exchanged.", [Intent.CHANGE]),
        ("You received two tablets. You want to return the cheaper one.", [Intent.RETURN, Intent.RETURN]),
        ("You want to know how many lamps there are. You want to return the mouse.", [None, Intent.RETURN]),
        ("You do not want to cancel the lamp.", [None]),
        ("Return the backpack that came with the vacuum cleaner.", [Intent.RETURN, None]),
        ("Make sure everything is addressed in one go.", []),
    ],
)
def test_each_thing_has_the_intent_of_its_verb(words: str, intents: list[Intent | None]) -> None:
    assert [mention.intent for mention in read(words).mentions] == intents


def test_changing_an_address_is_not_changing_an_item() -> None:
    (lamp,) = read("You want to change the address of the lamp.").mentions
    assert lamp.intent is Intent.ADDRESS


def test_what_is_excepted_is_marked() -> None:
    everything, lamp = read("Return everything except the desk lamp.").mentions
    assert (everything.products, everything.excepted) == (frozenset(), False)
    assert lamp.products == {"Desk Lamp"}
    assert lamp.excepted


def test_a_name_may_mean_several_products() -> None:
    (watch,) = read("Return the watch.").mentions
    assert watch.products == {"Smart Watch", "Wristwatch"}


def test_a_wish_is_split_from_what_holds_if_it_cannot_be() -> None:
    (lamp,) = read("Exchange the lamp for a black one. If that is not available, take white.").mentions
    assert lamp.wish.strip() == "for a black one."
    assert "white" in lamp.otherwise


def test_things_without_a_wish_share_that_of_the_next() -> None:
    bed, chair = read("Exchange the pet bed and the office chair to the cheapest version.").things
    assert bed.wish == chair.wish


def test_options_written_as_dictionaries_are_read() -> None:
    (shirt,) = read("Exchange T-Shirt {'color': 'blue', 'size': 'S'} to {'color': 'red'}").mentions
    assert (shirt.have_options, shirt.wish_options) == ({"color": "blue", "size": "S"}, {"color": "red"})


def test_reading_the_same_words_again_costs_nothing() -> None:
    assert read("Return the lamp.") is read("Return the lamp.")


@pytest.mark.parametrize(
    ("text", "key", "values", "told"),
    [
        ("to a size 8", "size", ["8", "9"], ["8"]),
        ("a medium one", "size", ["S", "M", "L"], ["M"]),
        ("a 13 inch version", "screen size", ["13-inch", "15-inch"], ["13-inch"]),
        ("to 4 foot", "height", ["3 ft", "4 ft"], ["4 ft"]),
        ("with no backlight", "backlight", ["none", "RGB"], ["none"]),
        ("not water resistant", "water resistance", ["yes", "no"], ["no"]),
        ("a waterproof one", "waterproof", ["yes", "no"], ["yes"]),
        ("google home", "compatibility", ["Google Assistant", "Apple HomeKit"], ["Google Assistant"]),
        ("silver, else black", "color", ["black", "silver", "white"], ["silver", "black"]),
        ("a 1000-piece one", "pieces", ["500", "1000"], ["1000"]),
    ],
)
def test_option_values_are_told_in_many_spellings(text: str, key: str, values: list[str], told: list[str]) -> None:
    assert told_values(text, key, values) == told


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("refund it to paypal, or else the credit card can be used", ["paypal", "credit_card"]),
        ("use the gift card first, but then change your mind to using paypal", ["paypal", "gift_card"]),
        ("you want to know your gift card balance", []),
        ("pay with your visa", ["visa"]),
        ("refund to the original payment method", ["original"]),
    ],
)
def test_payments_are_read_in_the_order_of_the_wishes(text: str, kinds: list[str]) -> None:
    assert stated(text) == kinds


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("to 101 highway, new york, 10001", ("101 Highway", "", "New York", "NY", "10001")),
        ("is 1234 elm st, springfield, il, 62701", ("1234 Elm St", "", "Springfield", "IL", "62701")),
        (
            "445 maple drive, suite 394, fort worth, texas, 76165",
            ("445 Maple Drive", "Suite 394", "Fort Worth", "TX", "76165"),
        ),
    ],
)
def test_an_address_is_read_as_the_shop_writes_it(text: str, place: tuple[str, ...]) -> None:
    address = written(text)
    assert address is not None
    assert (*(address[key] for key in ("address1", "address2", "city", "state", "zip")),) == place
    assert address["country"] == "USA"
