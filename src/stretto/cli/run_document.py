"""The document that ``--json`` prints for a run."""

from collections.abc import Sequence
from pathlib import Path

from stretto.cli.terminal import json_bytes
from stretto.record.codec import encode_annotation, encode_effect, encode_run
from stretto.record.model import Annotation, EffectRecord, Run
from stretto.types.ids import digest_of


def run_document(run: Run, store: Path) -> bytes:
    """``{"run": ..., "store": ...}``: the run in its `stretto.run/1` form, arrays as references."""
    return b'{"run":%b,"store":%b}' % (encode_run(run, digest_of), json_bytes(str(store)))


def whole_document(run: Run, effects: Sequence[EffectRecord], annotations: Sequence[Annotation], store: Path) -> bytes:
    """A run with its effects and what became known of it later."""
    return b'{"run":%b,"effects":[%b],"annotations":[%b],"store":%b}' % (
        encode_run(run, digest_of),
        b",".join(map(encode_effect, effects)),
        b",".join(map(encode_annotation, annotations)),
        json_bytes(str(store)),
    )
