"""Judging a domain on labelled texts, by hand-worked figures."""

from typing import ClassVar

from stretto.learn.semantics.judged import judge
from stretto.learn.semantics.samples import Sample
from stretto.types.meaning import Aligned, AlignedBy


class Fixed:
    """Says what it was told to."""

    answers: ClassVar = {
        "a": Aligned(value="track", by=AlignedBy.EXACT),
        "b": Aligned(value="cancel", by=AlignedBy.LEARNED, confidence=0.9),
        "c": Aligned(value="track", by=AlignedBy.ABSTAINED, confidence=0.3),
        "d": Aligned(value="", by=AlignedBy.ABSTAINED, confidence=0.0),
        "e": Aligned(value="refund", by=AlignedBy.RULE),
    }  # fmt: skip

    def align(self, text: str) -> Aligned:
        return self.answers[text]


def test_guesses_count_for_accuracy_and_answers_for_error() -> None:
    labels = {"a": "track", "b": "track", "c": "track", "d": "", "e": ""}
    judged = judge(Fixed(), [Sample(text=text, value=value) for text, value in labels.items()])
    assert (judged.texts, judged.outside) == (3, 2)
    assert (judged.accuracy, judged.coverage, judged.error) == (2 / 3, 2 / 3, 2 / 3)
    assert judged.outside_refused == 0.5
    assert judged.by == {"exact": 1, "learned": 1, "abstained": 2, "rule": 1}
    assert {(each.means, each.taken_for) for each in judged.confusions} == {("track", "cancel"), ("", "refund")}


def test_no_text_gives_no_share() -> None:
    judged = judge(Fixed(), [])
    assert (judged.accuracy, judged.coverage, judged.error, judged.outside_refused) == (0, 0, 0, 0)
