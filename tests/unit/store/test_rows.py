import pytest

from stretto.record.model import ErrorInfo, StepRecord
from stretto.store.rows import SPILL_BYTES, read_steps, step_rows
from stretto.types.errors import NotJsonError
from stretto.types.ids import Digest, digest_of
from tests.unit.record.generated import a_model_call, a_step, raw

LARGE = raw("x" * SPILL_BYTES)
NEARLY_LARGE = raw("x" * (SPILL_BYTES - 200))


def small(count: int) -> list[StepRecord]:
    return [a_step(f"s{index}") for index in range(count)]


@pytest.mark.parametrize(
    ("steps", "sizes"),
    [
        pytest.param([], [], id="none"),
        pytest.param(small(4), [4], id="a few plain ones"),
        pytest.param([*small(2), a_step("rich", evidence={"score": 0.5}), *small(1)], [4], id="with evidence"),
        pytest.param(small(600), [256, 256, 88], id="many"),
        pytest.param([a_step("s", output=NEARLY_LARGE)] * 600, [256, 256, 88], id="many nearly large ones"),
        pytest.param([a_step("large", output=LARGE)], [1], id="a large one"),
        pytest.param([*small(2), a_step("large", output=LARGE), *small(3)], [2, 1, 3], id="a large one between"),
        pytest.param([a_step("a", output=LARGE), a_step("b", output=LARGE)], [1, 1], id="large ones only"),
        pytest.param([*small(256), a_step("large", output=LARGE)], [256, 1], id="a full row before a large one"),
        pytest.param([a_step("calls", model_calls=(a_model_call(),)), *small(1)], [2], id="with arrays"),
    ],
)
def test_steps_share_rows_but_for_large_ones_and_are_read_back_in_order(
    steps: list[StepRecord], sizes: list[int]
) -> None:
    blobs: dict[Digest, bytes] = {}

    def put(content: bytes) -> Digest:
        blobs[digest_of(content)] = content
        return digest_of(content)

    rows = step_rows("run", 7, steps, put)
    assert [size for _, _, size, _, _ in rows] == sizes
    assert [seq for _, seq, _, _, _ in rows] == [7 + sum(sizes[:index]) for index in range(len(sizes))]
    read = [step for _, _, _, doc, spilled in rows for step in read_steps(doc, spilled, blobs.__getitem__)]
    assert [step.path for step in read] == [step.path for step in steps]
    assert [bytes(step.output) for step in read] == [bytes(step.output) for step in steps]
    assert [step.evidence for step in read] == [step.evidence for step in steps]
    assert all(len(doc) < 1_100_000 for _, _, _, doc, _ in rows)


def test_a_step_that_cannot_be_encoded_is_named() -> None:
    odd = a_step("odd", error=ErrorInfo(code="shop.\ud800", message="no"))
    with pytest.raises(NotJsonError, match="step 'odd' cannot be recorded"):
        step_rows("run", 0, [a_step("plain"), odd], digest_of)
