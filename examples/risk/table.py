"""The table of card holders as tasks: one account each, and whether it defaulted. Run from the root:

python -m examples.risk.table default_credit_card.csv > tasks.jsonl
"""

import argparse
import csv
import gzip
import sys
from collections.abc import Collection, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Final

import msgspec

from stretto.learn.tasks import Task
from stretto.types.errors import UsageError
from stretto.types.json import JsonObject

STATUS: Final = ("PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6")
"""The latest month first; the table has no PAY_1."""

COLUMNS: Final = (
    *("ID", "LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE", *STATUS),
    *(f"{amount}{month}" for amount in ("BILL_AMT", "PAY_AMT") for month in range(1, 7)),
)

DEFAULTED: Final = ("default_payment_next_month", "default.payment.next.month")
"""As copies of the table name it."""


def tasks(table: Path, *, with_person: bool = False) -> Iterator[Task]:
    """Every row, in order; `with_person` tells sex, age and marriage too.

    Raises UsageError for a table without the columns of UCI's "default of credit card clients".
    """
    open_text = gzip.open if table.suffix == ".gz" else open
    with open_text(table, "rt", newline="") as file:
        rows = csv.DictReader(file)
        _hold_to_columns(table, rows.fieldnames or ())
        for row in rows:
            known = next(row[name] for name in DEFAULTED if name in row)
            yield Task(
                name=f"card-{row['ID']}",
                input={"account": _account(row), **({"person": _person(row)} if with_person else {})},
                reference={"defaulted": known == "1"},
                labels={"split": split_of(row["ID"])},
            )


def split_of(number: str) -> str:
    """``train`` (60 %), ``validation`` or ``test`` (20 % each), by the card's number and nothing else."""
    place = int.from_bytes(blake2b(number.encode(), digest_size=4).digest(), "little") / 2**32
    return "train" if place < 0.6 else "validation" if place < 0.8 else "test"


def _hold_to_columns(table: Path, columns: Collection[str]) -> None:
    missing = [name for name in COLUMNS if name not in columns]
    if not any(name in columns for name in DEFAULTED):
        missing.append(" or ".join(DEFAULTED))
    if missing:
        raise UsageError(
            f'{table} has no column {", ".join(missing)}; expected UCI\'s "default of credit card clients" as CSV, its '
            "first line the columns' names: see examples/risk/README.md"
        )


def _account(row: dict[str, str]) -> JsonObject:
    return {
        "limit": float(row["LIMIT_BAL"]),
        "education": int(row["EDUCATION"]),
        "status": [int(row[name]) for name in STATUS],
        "bills": [float(row[f"BILL_AMT{month}"]) for month in range(1, 7)],
        "paid": [float(row[f"PAY_AMT{month}"]) for month in range(1, 7)],
    }


def _person(row: dict[str, str]) -> JsonObject:
    return {"sex": int(row["SEX"]), "age": int(row["AGE"]), "marriage": int(row["MARRIAGE"])}


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the table of card holders as tasks, one JSON object a line.")
    parser.add_argument("table", type=Path, help='UCI\'s "default of credit card clients", as CSV or CSV.GZ')
    parser.add_argument("--person", action="store_true", help="with sex, age and marriage")
    parser.add_argument("--split", choices=["train", "validation", "test"], help="this part only")
    asked = parser.parse_args()
    try:
        _write(asked.table, asked.split, with_person=asked.person)
    except (OSError, UsageError) as error:
        parser.exit(1, f"error: {error}\n")


def _write(table: Path, split: str | None, *, with_person: bool) -> None:
    encoder = msgspec.json.Encoder()
    for task in tasks(table, with_person=with_person):
        if split in (None, task.labels["split"]):
            sys.stdout.buffer.write(encoder.encode(task) + b"\n")


if __name__ == "__main__":
    main()
