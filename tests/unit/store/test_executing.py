from pathlib import Path

from stretto.store.executing import Executing
from stretto.store.journal import StepJournal
from stretto.store.writer import Writer
from stretto.types.ids import RunId
from tests.unit.record.generated import an_open_run


class Interrupting(StepJournal):
    """Whoever asks whether it has ended is interrupted by a thread that begins the next run."""

    beside: tuple[Executing, StepJournal]

    @property
    def ended(self) -> bool:
        executing, journal = self.beside
        executing.begin(RunId("the next"), journal)
        return False

    @ended.setter
    def ended(self, value: bool) -> None:
        return


def a_journal(path: Path, kind: type[StepJournal] = StepJournal) -> StepJournal:
    return kind(object(), Writer(path, "me", fsync=False), an_open_run(), epoch=1)


def test_a_run_may_begin_in_another_thread_while_those_at_work_are_listed(path: Path) -> None:
    executing = Executing()
    journal = a_journal(path, Interrupting)
    assert isinstance(journal, Interrupting)
    journal.beside = executing, (following := a_journal(path))
    executing.begin(RunId("this"), journal)
    assert executing.run_ids() == ["this"]
    assert sorted(executing.run_ids()) == ["the next", "this"]
    assert not following.ended


def test_a_run_whose_journal_was_let_go_of_is_not_at_work(path: Path) -> None:
    executing = Executing()
    journal = a_journal(path)
    executing.begin(RunId("this"), journal)
    assert executing.run_ids() == ["this"]
    del journal
    assert executing.run_ids() == []
