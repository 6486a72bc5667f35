"""The shop's vocabulary: how customers call its products, its options, its states. Domain knowledge, no task's."""

from collections.abc import Mapping
from typing import Final

PRODUCTS: Final[Mapping[str, str]] = {
    "Action Camera": "action camera|camera",
    "Air Purifier": "air purifier|purifier",
    "Backpack": "backpack|rucksack",
    "Bicycle": "bicycle|bike",
    "Bluetooth Speaker": "bluetooth speaker|speaker",
    "Bookshelf": "bookshelf|bookshelves|book shelf|book shelves|shelf",
    "Coffee Maker": "coffee maker|coffee machine",
    "Cycling Helmet": "cycling helmet|bike helmet|helmet",
    "Desk Lamp": "desk lamp|lamp",
    "Digital Camera": "digital camera|camera",
    "Dumbbell Set": "dumbbell set|dumbbell|weights",
    "E-Reader": "e-reader|ereader|e reader",
    "Electric Kettle": "electric kettle|kettle",
    "Electric Toothbrush": "electric toothbrush|toothbrush",
    "Espresso Machine": "espresso machine|coffee machine",
    "Fleece Jacket": "fleece jacket|jacket|fleece",
    "Gaming Mouse": "gaming mouse|mouse|mice",
    "Garden Hose": "garden hose|hose",
    "Grill": "grill",
    "Headphones": "headphones|headphone|headset",
    "Hiking Boots": "hiking boots|hiking boot|boots|boot|hiking shoes",
    "Indoor Security Camera": "indoor security camera|security camera|indoor camera|camera",
    "Jigsaw Puzzle": "jigsaw puzzle|jigsaw|puzzle",
    "LED Light Bulb": "led light bulb|light bulb|led bulb|bulb",
    "Laptop": "laptop",
    "Luggage Set": "luggage set|luggage|suitcase",
    "Makeup Kit": "makeup kit|make-up kit|makeup",
    "Mechanical Keyboard": "mechanical keyboard|keyboard",
    "Notebook": "notebook",
    "Office Chair": "office chair|chair",
    "Patio Umbrella": "patio umbrella|umbrella",
    "Perfume": "perfume",
    "Pet Bed": "pet bed|dog bed|cat bed|bed",
    "Portable Charger": "portable charger|charger|power bank",
    "Running Shoes": "running shoes|running shoe|shoes|shoe",
    "Skateboard": "skateboard",
    "Smart Thermostat": "smart thermostat|thermostat",
    "Smart Watch": "smart watch|smartwatch|watch|watches",
    "Smartphone": "smartphone|smart phone|cell phone|phone",
    "Sneakers": "sneakers|sneaker|shoes",
    "Sunglasses": "sunglasses|sunglass|shades",
    "T-Shirt": "t-shirt|tshirt|t shirt|shirt",
    "Tablet": "tablet",
    "Tea Kettle": "tea kettle|kettle",
    "Vacuum Cleaner": "vacuum cleaner|vacuum|cleaner",
    "Wall Clock": "wall clock|clock",
    "Water Bottle": "water bottle|bottle",
    "Wireless Earbuds": "wireless earbuds|wireless earbud|earbuds|earbud|earphones",
    "Wristwatch": "wristwatch|wrist watch|watch|watches",
    "Yoga Mat": "yoga mat|mat",
}
"""Every product type of the shop with the names people use for it; a name may mean several types."""

NUMBER_WORDS: Final[Mapping[str, str]] = {
    "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "eight": "8", "ten": "10",
}  # fmt: skip

OPTION_WORDS: Final[Mapping[str, str]] = {
    "XS": "extra small|xs",
    "S": "small|s size|size s",
    "M": "medium|medium sized|size m|m size",
    "L": "large|size l|l size",
    "XL": "extra large|xl",
    "XXL": "xxl|double extra large",
    "Google Assistant": "google home|google assistant|google",
    "Amazon Alexa": "alexa|amazon",
    "Apple HomeKit": "homekit|apple",
    "softshell": "softshell|soft shell|soft material|soft",
    "hardshell": "hardshell|hard shell|hard material|hard",
    "AC adapter": "ac adapter|ac",
    "animals": "animals|animal",
    "grey": "grey|gray",
    "gray": "gray|grey",
    "space grey": "space grey|space gray",
    "high-back": "high-back|high back|high backrest",
    "hard cover": "hard cover|hardcover",
    "soft cover": "soft cover|softcover",
    "not resistant": "not resistant|not water resistant|no water resistance",
    "robotic": "robotic|robot",
    "Wi-Fi + Cellular": "cellular",
    "Wi-Fi": "wi-fi|wifi",
    "built-in grinder": "built-in grinder|grinder",
    "pet hair removal": "pet hair removal|pet hair",
    "HEPA filter": "hepa filter|hepa",
    "quiet operation": "quiet operation|quiet",
    "smart sensors": "smart sensors|smart sensor",
    "AA batteries": "aa batteries|aa battery|aa",
    "stainless steel": "stainless steel|steel",
    "memory foam": "memory foam|foam",
    "natural rubber": "natural rubber|rubber",
    "polarized": "polarized",
    "non-polarized": "non-polarized|not polarized",
    "maple": "maple|maple wood",
    "leather": "leather",
}
"""Other spellings of option values."""

YES_NO: Final[Mapping[str, tuple[str, str]]] = {
    "waterproof": (
        r"\bwater ?proof\b|\bwater[- ]?resistan\w*",
        r"not (?:be )?water ?proof|non-waterproof|not water[- ]?resistan\w*",
    ),
    "water resistance": (
        r"\bwater ?proof\b|\bwater[- ]?resist[ae]n\w*|resist\w* to water",
        r"not (?:be )?water[- ]?(?:proof|resist\w*)|not resist\w* to water|no water resistance",
    ),
}
"""Options whose values are yes and no: what says yes, what says no."""

SCALES: Final[Mapping[str, tuple[str, ...]]] = {
    "size": ("XS", "S", "small", "M", "portable", "medium", "L", "large", "XL", "XXL"),
    "frame size": ("small", "medium", "large"),
    "room size": ("small", "medium", "large"),
    "brightness": ("low", "medium", "high"),
    "ventilation": ("low", "medium", "high"),
    "speed settings": ("low", "high"),
    "difficulty level": ("beginner", "intermediate", "expert"),
    "processor": ("i5", "i7", "i9"),
}
"""Option values from least to most, where they are words; numbers order themselves."""

TO_THE_END: Final = 9
"""Steps that no scale has: the last value in that direction."""

COMPARATIVES: Final[tuple[tuple[str, int, tuple[str, ...]], ...]] = (
    (r"less bright|dimmer|darker", -1, ("brightness",)),
    (r"brighter|more bright", 1, ("brightness",)),
    (r"shorter", -1, ("length", "height")),
    (r"longer|taller", 1, ("length", "height")),
    (r"lower resolution|lower in resolution", -1, ("resolution",)),
    (r"higher resolution|better resolution", 1, ("resolution",)),
    (r"(?:size|sizes) (?:smaller|down)|smaller", -1, ("size", "frame size", "capacity", "screen size", "room size")),
    (
        r"(?:size|sizes) (?:larger|bigger|up)|larger|bigger|next size up",
        1,
        ("size", "frame size", "capacity", "screen size", "room size"),
    ),
    (r"maximum zoom|max zoom|most zoom|highest zoom", TO_THE_END, ("zoom",)),
    (r"easiest", -TO_THE_END, ("difficulty level",)),
    (r"easier", -1, ("difficulty level",)),
    (r"harder|more difficult", 1, ("difficulty level",)),
    (r"hardest|most difficult", TO_THE_END, ("difficulty level",)),
    (r"(?:fewest|least|least amount of|least number of) pieces", -TO_THE_END, ("pieces",)),
    (r"most pieces", TO_THE_END, ("pieces",)),
    (r"more storage|bigger storage|larger storage", 1, ("storage",)),
    (r"(?:largest|biggest|max\w*|most|highest) storage", TO_THE_END, ("storage",)),
    (r"(?:largest|biggest)(?: size)?", TO_THE_END, ("size", "frame size", "capacity", "screen size", "room size")),
    (r"smallest(?: size)?", -TO_THE_END, ("size", "frame size", "capacity", "screen size", "room size")),
)
"""Words that ask for less or more: pattern, steps on the scale, the options they may be about."""

STATES: Final[Mapping[str, str]] = {
    "alabama": "AL", "alaska": "AK", "arizona": "AZ", "arkansas": "AR", "california": "CA", "colorado": "CO",
    "connecticut": "CT", "delaware": "DE", "florida": "FL", "georgia": "GA", "hawaii": "HI", "idaho": "ID",
    "illinois": "IL", "indiana": "IN", "iowa": "IA", "kansas": "KS", "kentucky": "KY", "louisiana": "LA",
    "maine": "ME", "maryland": "MD", "massachusetts": "MA", "michigan": "MI", "minnesota": "MN",
    "mississippi": "MS", "missouri": "MO", "montana": "MT", "nebraska": "NE", "nevada": "NV",
    "new hampshire": "NH", "new jersey": "NJ", "new mexico": "NM", "new york": "NY", "north carolina": "NC",
    "north dakota": "ND", "ohio": "OH", "oklahoma": "OK", "oregon": "OR", "pennsylvania": "PA",
    "rhode island": "RI", "south carolina": "SC", "south dakota": "SD", "tennessee": "TN", "texas": "TX",
    "utah": "UT", "vermont": "VT", "virginia": "VA", "washington": "WA", "west virginia": "WV",
    "wisconsin": "WI", "wyoming": "WY",
}  # fmt: skip

CITY_STATES: Final[Mapping[str, str]] = {
    "austin": "TX", "boston": "MA", "charlotte": "NC", "chicago": "IL", "columbus": "OH", "dallas": "TX",
    "denver": "CO", "fort worth": "TX", "houston": "TX", "indianapolis": "IN", "jacksonville": "FL",
    "los angeles": "CA", "new york": "NY", "philadelphia": "PA", "phoenix": "AZ", "san antonio": "TX",
    "san diego": "CA", "san francisco": "CA", "san jose": "CA", "seattle": "WA", "washington": "DC",
}  # fmt: skip
"""Where the largest cities lie, for addresses given without a state."""

CITY_NAMES: Final[Mapping[str, str]] = {
    "nyc": "New York", "ny": "New York", "big apple": "New York", "la": "Los Angeles", "dc": "Washington",
    "sf": "San Francisco", "philly": "Philadelphia",
}  # fmt: skip
"""Nicknames of cities."""
