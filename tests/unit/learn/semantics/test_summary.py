"""Folding recorded alignments: shares, drift, and the same whatever the order."""

import msgspec
from hypothesis import given, strategies as st

from stretto.learn.semantics.alignments import LABEL, Alignment, alignments_of, corrections
from stretto.learn.semantics.samples import Sample
from stretto.learn.semantics.summary import summarise
from stretto.record.model import NULL, Annotation, Manifest, Run, StepRecord
from stretto.types.enums import StepStatus
from stretto.types.ids import RunId, StepPath, digest_of
from stretto.types.json import Json
from stretto.types.meaning import AlignedBy


def _alignment(at_ns: int, by: AlignedBy, confidence: float, text: str = "x", domain: str = "intent") -> Alignment:
    return Alignment(
        run_id=RunId(f"run-{at_ns}"),
        at_ns=at_ns,
        path="planner",
        at="planner.intent",
        domain=domain,
        text=text,
        to=None if by is AlignedBy.ABSTAINED else "track",
        by=by,
        confidence=confidence,
    )


FOUND = [
    _alignment(1, AlignedBy.SYNONYM, 1.0),
    _alignment(2, AlignedBy.LEARNED, 0.9),
    _alignment(3, AlignedBy.LEARNED, 0.8),
    _alignment(4, AlignedBy.ABSTAINED, 0.2, text="what"),
    _alignment(5, AlignedBy.ABSTAINED, 0.1, text="what"),
    _alignment(6, AlignedBy.RULE, 1.0, domain="mood"),
]


def test_shares_and_drift_of_hand_worked_alignments() -> None:
    intent, mood = summarise(FOUND)
    assert (intent.domain, intent.texts) == ("intent", 5)
    assert intent.by == {"synonym": 1, "learned": 2, "abstained": 2}
    assert intent.drift is not None
    assert (round(intent.drift.before, 9), round(intent.drift.after, 9)) == (0.85, 0.15)
    assert (intent.drift.abstained_before, intent.drift.abstained_after) == (0.0, 1.0)
    assert [(each.text, each.count) for each in intent.abstained] == [("what", 2)]
    assert (mood.by, mood.drift) == ({"rule": 1}, None)


@given(st.permutations(FOUND))
def test_the_order_makes_no_difference(found: list[Alignment]) -> None:
    assert summarise(found) == summarise(FOUND)


def test_what_a_component_calls_alignments_and_what_was_simulated_or_reused_is_passed_over() -> None:
    note: Json = {"at": "a.b", "domain": "intent", "value": "x", "to": "track", "by": "rule", "confidence": 1.0}
    step = StepRecord(path=StepPath("a"), status=StepStatus.OK, evidence={"alignments": ["straight", note, {"at": 1}]})
    other = StepRecord(path=StepPath("b"), status=StepStatus.OK, evidence={"alignments": "none"})
    simulated = StepRecord(path=StepPath("c"), status=StepStatus.OK, evidence={"alignments": [note]}, simulated=True)
    reused = StepRecord(path=StepPath("d"), status=StepStatus.OK, evidence={"alignments": [note]}, reused_from="q")
    run = Run(
        id=RunId("r"),
        workflow_run_id="w@1",
        input=NULL,
        manifest=Manifest(workflow="w", version="1", plan=digest_of(b""), components={}),
        input_digest=digest_of(b""),
        started_at_ns=7,
        steps=[step, other, simulated, reused],
    )
    (found,) = alignments_of(run)
    assert (found.text, found.to, found.by, found.path, found.at_ns) == ("x", "track", AlignedBy.RULE, "a", 7)


def test_labels_are_read_from_annotations_and_other_domains_passed_over() -> None:
    def said(name: str, value: object) -> Annotation:
        return Annotation(run_id=RunId("r"), name=name, value=msgspec.to_builtins(value), at_ns=0)

    annotations = [
        said("reward.late", 1.0),
        said(LABEL, "track"),
        said(LABEL, {"domain": "mood", "text": "ugh", "value": "sad"}),
        said(LABEL, {"domain": "intent", "text": "where", "value": "track"}),
    ]
    assert list(corrections(iter(annotations), "intent")) == [Sample(text="where", value="track")]
