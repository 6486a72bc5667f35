"""Identifiers."""

import hashlib
import hmac

from hypothesis import given, strategies as st

from stretto.types.ids import MAX_WORKFLOW_RUN_ID_CHARS, Digest, RunId, keyed_digest_of, new_run_id, workflow_run_id


@given(st.binary(max_size=200), st.binary(max_size=300))
def test_the_keyed_digest_is_hmac_sha256(key: bytes, content: bytes) -> None:
    assert keyed_digest_of(key, content) == hmac.new(key, content, hashlib.sha256).hexdigest()


def test_run_ids_sort_by_time_of_creation() -> None:
    ids = [new_run_id() for _ in range(100)]
    assert ids == sorted(ids)


@given(st.text(max_size=200), st.text(max_size=50))
def test_a_rendered_run_id_is_bounded_and_keeps_the_uuid(name: str, version: str) -> None:
    run = RunId("01a22843-77b8-743e-8c5f-2d9d1227f956")
    rendered = workflow_run_id(name, version, Digest("a" * 64), Digest("b" * 64), run)
    assert len(rendered) <= MAX_WORKFLOW_RUN_ID_CHARS
    assert rendered.endswith(f".aaaaaaaa.bbbbbbbb.{run}")
