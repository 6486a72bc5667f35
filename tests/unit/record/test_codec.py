import math
import re
from io import BytesIO
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import numpy as np
import orjson
import pytest
from hypothesis import given
from safetensors.numpy import load_file

from stretto.record.arrays import BlobFolder
from stretto.record.canonical import canonical
from stretto.record.codec import (
    decode_effect,
    decode_run,
    decode_step,
    encode_effect,
    encode_head,
    encode_run,
    encode_step,
)
from stretto.record.lines import content_of, decode_line, encode_line, export_runs, import_lines
from stretto.record.model import FORMAT, NULL, Run
from stretto.record.schema import json_schema
from stretto.types.errors import NotJsonError, StoreError, UsageError
from stretto.types.ids import new_run_id
from stretto.types.learning import Action, Reward
from stretto.types.messages import Usage
from tests.unit.record.bag import BlobBag
from tests.unit.record.generated import a_model_call, a_run, a_step, an_effect, any_records, any_run

SCHEMA = jsonschema_rs.validator_for(json_schema())


@given(any_run)
def test_a_run_reads_back_equal_with_its_arrays(run: Run) -> None:
    blobs = BlobBag()
    data = encode_run(run, blobs.put)
    again = decode_run(data, blobs.get)
    assert canonical(encode_run(again, blobs.put)) == canonical(data)
    for before, after in zip(run.steps, again.steps, strict=True):
        for call, same in zip(before.model_calls, after.model_calls, strict=True):
            for array, copy in ((call.prompt_ids, same.prompt_ids), (call.logprobs, same.logprobs)):
                np.testing.assert_array_equal(array, copy)
                assert array is None or (copy is not None and array.dtype == copy.dtype)


@given(any_run)
def test_every_encoded_run_fits_the_published_schema(run: Run) -> None:
    document = orjson.loads(encode_run(run, BlobBag().put))
    assert not list(SCHEMA.iter_errors(document))


def test_the_schema_refuses_what_is_not_a_run() -> None:
    document = orjson.loads(encode_run(a_run()))
    for wrong in ({**document, "format": "stretto.run/2"}, {**document, "steps": 3}, {"format": FORMAT}):
        assert not SCHEMA.is_valid(wrong)


def test_the_format_is_always_said_and_comes_first() -> None:
    assert encode_run(a_run()).startswith(b'{"format":"stretto.run/1","id":')


def test_arrays_are_references_in_json_and_safetensors_beside(tmp_path: Path) -> None:
    run = a_run(steps=[a_step(model_calls=(a_model_call(tokens=3),))])
    folder = BlobFolder(tmp_path / "blobs")
    document = orjson.loads(encode_run(run, folder.put))
    reference = document["steps"][0]["model_calls"][0]["logprobs"]
    assert {"dtype": "float32", "shape": [3]}.items() <= reference.items()
    stored = load_file(tmp_path / "blobs" / f"{reference['$blob']}.safetensors")["array"]
    np.testing.assert_array_equal(stored, np.linspace(-1.0, -0.1, 3, dtype=np.float32))


def test_without_a_source_of_blobs_references_stand_in_place_of_arrays() -> None:
    data = encode_run(a_run(steps=[a_step(model_calls=(a_model_call(),))]), BlobBag().put)
    call = decode_run(data).steps[0].model_calls[0]
    assert not isinstance(call.logprobs, np.ndarray)
    assert encode_run(decode_run(data)) == data


def test_arrays_without_a_place_for_them_are_refused() -> None:
    with pytest.raises(UsageError, match="step 'planner' holds arrays, and no place was given"):
        encode_run(a_run(steps=[a_step(model_calls=(a_model_call(),))]))


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([1 + 2j]), np.array([1.0], dtype=np.longdouble)])
def test_arrays_that_are_not_numbers_are_refused(array: Any) -> None:
    call = msgspec.structs.replace(a_model_call(), logprobs=array)
    with pytest.raises(NotJsonError, match="give a numpy array of numbers or booleans"):
        encode_step(a_step(model_calls=(call,)), BlobBag().put)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"rewards": (Reward(name="tone", value=math.nan),)}, "reward 'tone' is nan"),
        ({"usage": Usage(cost=math.inf)}, "cost is inf"),
        (
            {"actions": (Action(name="tool", chosen="a", support=("a",), logprob=-math.inf, propensity=0, policy=""),)},
            "the log-probability of action 'tool' is -inf",
        ),
        ({"evidence": {"score": math.nan}}, "nan is not JSON; use null or a finite number, at /score"),
        ({"evidence": {"score": [object()]}}, "a value of type object is not JSON; .*, at /score/0"),
        ({"evidence": {"text": "\ud800"}}, "step 'planner' cannot be recorded"),
    ],
)
def test_a_step_that_json_cannot_hold_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(NotJsonError, match=words):
        encode_step(a_step(**fields))


def test_a_run_whose_reward_is_not_a_number_is_refused() -> None:
    with pytest.raises(NotJsonError, match="reward is nan; it must be a finite number, and an unknown reward None"):
        encode_head(a_run(reward=math.nan))


def test_a_head_has_no_steps_and_leaves_the_run_as_it_is() -> None:
    run = a_run()
    assert "steps" not in orjson.loads(encode_head(run))
    assert len(run.steps) == 2


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "this is no run as stretto.run/1 has it"),
        (b"[]", "this is no run as stretto.run/1 has it"),
        (b'{"format":"stretto.run/1"}', "missing required field"),
        (b'{"format":"stretto.run/2","id":3}', "the record's format is 'stretto.run/2' .* upgrade stretto"),
        (encode_run(a_run()).replace(b"run/1", b"run/9"), "'stretto.run/9'"),
    ],
)
def test_what_is_not_a_run_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(StoreError, match=words):
        decode_run(data)


def test_a_field_of_a_newer_minor_version_is_ignored() -> None:
    data = encode_run(a_run()).replace(b'{"format"', b'{"mood":"calm","format"')
    assert decode_run(data).manifest.workflow == "support"


def test_a_missing_and_a_damaged_blob_are_told_apart(tmp_path: Path) -> None:
    folder = BlobFolder(tmp_path)
    data = encode_step(a_step(model_calls=(a_model_call(),)), folder.put)
    files = sorted(tmp_path.iterdir())
    for file in files:
        file.write_bytes(b"x")
    with pytest.raises(StoreError, match="is damaged"):
        decode_step(data, folder.get)
    for file in files:
        file.unlink()
    with pytest.raises(StoreError, match="copied without its blobs"):
        decode_step(data, folder.get)


def test_a_receipt_of_null_is_a_receipt() -> None:
    effect = an_effect(new_run_id(), receipt=NULL, received_at_ns=7)
    assert not decode_effect(encode_effect(effect)).in_doubt
    assert decode_effect(encode_effect(an_effect(new_run_id()))).in_doubt


# JSON Lines


@given(any_records())
def test_lines_read_back_to_equal_canonical_lines(records: list[Any]) -> None:
    blobs = BlobBag()
    lines = [encode_line(record, blobs.put) for record in records]
    again = [decode_line(line, blobs.get) for line in lines]
    assert [canonical(encode_line(record, blobs.put)) for record in again] == [canonical(line) for line in lines]
    assert all(line.count(b"\n") == 1 for line in lines)


def test_an_export_read_from_files_is_what_was_exported(tmp_path: Path) -> None:
    runs = [a_run(), a_run(steps=[a_step(model_calls=(a_model_call(),))])]
    out = BytesIO()
    assert export_runs(runs, out, tmp_path / "a") == 2
    again = BytesIO()
    records = [record for _, record in import_lines(BytesIO(out.getvalue()), tmp_path / "a", "runs.jsonl")]
    export_runs(records, again, tmp_path / "b")
    assert again.getvalue() == out.getvalue()
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == sorted(p.name for p in (tmp_path / "b").iterdir())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"nonsense\n", "runs.jsonl:2: not a record"),
        (b"{}\n", "runs.jsonl:2: not a record"),
        (b'{"format":"stretto.weights/1"}\n', "runs.jsonl:2: unknown format 'stretto.weights/1'"),
        (b'{"format":"stretto.run/1","id":"x"}\n', "runs.jsonl:2: this is no run"),
        (b'{"format":"stretto.annotation/1","run_id":1}\n', "runs.jsonl:2: this is no annotation"),
    ],
)
def test_a_line_that_is_no_record_is_named_by_its_number(line: bytes, words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        list(import_lines([encode_run(a_run()) + b"\n", line], tmp_path, "runs.jsonl"))


SEEDED = b'"seed":3'


@pytest.mark.parametrize("new", [b'"seed":4', b'"seed":3,"extra":1', b'"sead":3', b'"seed":"3"', b'"seed":3.5'])
def test_a_line_in_which_something_was_changed_is_refused(new: bytes) -> None:
    line = encode_line(a_run(seed=3), BlobBag().put)
    assert SEEDED in line
    with pytest.raises(StoreError, match="something in it was changed since it was exported"):
        decode_line(line.replace(SEEDED, new), BlobBag().get)


def test_a_line_may_be_spelt_otherwise() -> None:
    fields = orjson.loads(encode_line(a_run(seed=3), BlobBag().put))
    other = orjson.dumps(dict(reversed(fields.items())), option=orjson.OPT_INDENT_2)
    assert content_of(encode_line(decode_line(other, BlobBag().get), BlobBag().put)) == content_of(other)


@given(any_records())
def test_a_line_without_its_digest_is_read_as_before(records: list[Any]) -> None:
    blobs = BlobBag()
    for record in records:
        line = encode_line(record, blobs.put)
        again = encode_line(decode_line(content_of(line), blobs.get), blobs.put)
        assert canonical(again) == canonical(line)
