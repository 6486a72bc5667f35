"""Write the retail shop's vocabulary for the Go executor: ``python examples/polyglot/export_lexicon.py``.

The words stay one thing that is kept in one place, `examples/retail/words`; a test holds that the copy is no older.
"""

import json
import sys
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
LEXICON: Final = HERE / "executor" / "lexicon.json"


def lexicon() -> str:
    """The vocabulary as JSON text."""
    sys.path.insert(0, str(HERE.parent / "retail"))
    from words import lexicon as words  # beside this folder, not a package
    from words.values import UNITS

    tables = {
        "products": words.PRODUCTS,
        "number_words": words.NUMBER_WORDS,
        "option_words": words.OPTION_WORDS,
        "yes_no": words.YES_NO,
        "scales": words.SCALES,
        "comparatives": [
            {"words": pattern, "steps": steps, "about": about} for pattern, steps, about in words.COMPARATIVES
        ],
        "states": words.STATES,
        "city_states": words.CITY_STATES,
        "city_names": words.CITY_NAMES,
        "units": UNITS,
    }
    return json.dumps(tables, indent=1) + "\n"


if __name__ == "__main__":
    LEXICON.write_text(lexicon(), encoding="utf-8")
    print(f"wrote {LEXICON}")
