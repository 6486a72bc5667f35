"""Real COBOL programs, asked in a process for each call and in one for many."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from stretto.components.declare import build_component
from stretto.components.exec import ExecProgram
from stretto.spec.model import ComponentDecl
from stretto.spec.workflow import load_workflow
from stretto.types.errors import Code, ComponentError
from stretto.types.messages import Request

MakeRequest = Callable[..., Request]

CREDIT_RULES = """
    kind: exec
    command: [./credit_rules]
    effects: pure
    exit_codes: { "2": invalid_argument }
    request:
      format: fixed
      fields:
        - { name: age, picture: 9(3) }
        - { name: income, picture: 9(7)V99 }
        - { name: debt, picture: 9(7)V99 }
    response:
      format: fixed
      fields:
        - { name: class, picture: X, values: [A, B, C, D] }
        - { name: limit, picture: 9(7)V99 }
        - { name: reason, picture: X(20) }
"""

DISCOUNT = """
    kind: exec
    command: [./discount]
    effects: pure
    request: &order
      format: fixed
      encoding: cp037
      fields: [{ name: tier, picture: X(4) }, { name: amount, picture: S9(7)V99 COMP-3 }]
    response: *order
"""

NEGATE = """
    kind: exec
    command: [./negate]
    effects: pure
    request: &numbers
      format: fixed
      overpunch: ascii
      fields:
        - { name: name, picture: XXX }
        - { name: zoned, picture: S9(5)V99 }
        - { name: leading, picture: S9(3) SIGN LEADING }
        - { name: apart, picture: S9(3) SIGN TRAILING SEPARATE }
        - { name: packed, picture: S9(7)V99 COMP-3 }
        - { name: small, picture: S9(2) COMP, width: 1 }
        - { name: half, picture: S9(4) COMP }
        - { name: full, picture: S9(7)V99 BINARY }
        - { name: longest, picture: S9(16)V99 COMP }
        - { name: own_order, picture: S9(9) COMP-5 }
    response: *numbers
"""


def declared(folder: Path, program: Path, declaration: str) -> ExecProgram:
    shutil.copy(program, folder / program.name)
    path = folder / "workflow.yaml"
    path.write_text(f"stretto: 1\ncomponents:\n  it:{declaration}\nsteps: [{{ name: s, component: it }}]\n")
    (component,) = load_workflow(path).components
    assert isinstance(component, ComponentDecl)
    built = build_component(component, folder=folder)
    assert isinstance(built, ExecProgram)
    return built


@pytest.mark.parametrize("process", ["per_call", "persistent"])
async def test_a_rule_engine_in_cobol_decides(
    tmp_path: Path, make_request: MakeRequest, credit_rules: Path, process: str
) -> None:
    rules = declared(tmp_path, credit_rules, f"{CREDIT_RULES}    process: {process}\n")
    await rules.open()
    expected = {
        (42, "52000.50", 1000): {"class": "A", "limit": "15600.15", "reason": "SOUND"},
        (17, 52000, 1000): {"class": "D", "limit": "0.00", "reason": "UNDER AGE"},
        (80, 20000.5, 0): {"class": "B", "limit": "1500.04", "reason": "SOME DEBT OR INCOME"},
        (30, "10000.00", "5000.01"): {"class": "C", "limit": "500.00", "reason": "HIGH DEBT"},
        (30, 0, 1): {"class": "D", "limit": "0.00", "reason": "TOO MUCH DEBT"},
    }
    for (age, income, debt), answer in expected.items():
        assert (await rules(make_request(age=age, income=income, debt=debt))).output == answer
    await rules.close()


@pytest.mark.parametrize("process", ["per_call", "persistent"])
async def test_a_program_that_stops_with_a_code_is_told_by_it(
    tmp_path: Path, make_request: MakeRequest, credit_rules: Path, process: str
) -> None:
    """Its first field is declared as text, so that what is no number comes through to it."""
    wrong = CREDIT_RULES.replace("{ name: age, picture: 9(3) }", "{ name: age, width: 3 }")
    rules = declared(tmp_path, credit_rules, f"{wrong}    process: {process}\n")
    with pytest.raises(ComponentError) as caught:
        await rules(make_request(age="old", income=1, debt=1))
    assert caught.value.rpc_code is Code.INVALID_ARGUMENT
    assert "NO NUMBERS: old000000100000000100" in str(caught.value)
    assert (await rules(make_request(age="042", income=1, debt=0))).output["reason"]  # type: ignore[index]
    await rules.close()


@pytest.mark.parametrize("process", ["per_call", "persistent"])
async def test_a_program_for_ebcdic_and_packed_decimals_answers(
    tmp_path: Path, make_request: MakeRequest, build_cobol: Callable[[Path], Path], process: str
) -> None:
    source = Path(__file__).parent / "programs" / "discount.cob"
    discount = declared(tmp_path, build_cobol(source), f"{DISCOUNT}    process: {process}\n")
    await discount.open()
    for tier, amount, price in (("GOLD", "12345.67", "11111.10"), ("IRON", "-0.01", "-0.01")):
        assert (await discount(make_request(tier=tier, amount=amount))).output == {"tier": tier, "amount": price}
    await discount.close()


@pytest.mark.parametrize("sign", ["", "-"])
async def test_every_usage_of_gnucobol_is_written_and_read(
    tmp_path: Path, make_request: MakeRequest, build_cobol: Callable[[Path], Path], sign: str
) -> None:
    source = Path(__file__).parent / "programs" / "negate.cob"
    negate = declared(tmp_path, build_cobol(source), NEGATE)
    await negate.open()
    texts = {"zoned": "12345.67", "packed": "1234567.89", "full": "7654321.01", "longest": "9876543210123456.78"}
    whole = {"leading": 123, "apart": 45, "small": 99, "half": 9999, "own_order": 123456789}
    given = {
        "name": "ab",
        **{name: f"{sign}{text}" for name, text in texts.items()},
        **{name: -number if sign else number for name, number in whole.items()},
    }
    expected = {
        "name": "ab",
        **{name: text if sign else f"-{text}" for name, text in texts.items()},
        **{name: number if sign else -number for name, number in whole.items()},
    }
    assert (await negate(make_request(**given))).output == expected
    await negate.close()
