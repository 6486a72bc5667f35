"""The one thread that writes: whatever is queued when it comes round is one transaction."""

import asyncio
import concurrent.futures
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from stretto.store.batch import RefusedError, Write, apply
from stretto.store.inbox import FULL_BYTES, Chore, Inbox
from stretto.store.owner import HEARTBEAT_S, LEASE_S
from stretto.store.transactions import Transactions
from stretto.types.errors import StoreError

_T = TypeVar("_T")

_CROWD_S: Final = 0.05
"""How long after a commit that several waited for the next is left to the writer: long enough for a wave of runs to
come round, short enough that a lone run soon has its way again."""

Outcome: TypeAlias = tuple["asyncio.Future[None]", StoreError | None]


class _Task:
    """Work for the writer's connection, in a transaction of its own."""

    __slots__ = ("future", "lease", "work")

    size = 0

    def __init__(self, work: Callable[[sqlite3.Connection], Any], *, lease: bool) -> None:  # Any: what it returns
        self.work = work
        self.lease = lease
        self.future: concurrent.futures.Future[Any] = concurrent.futures.Future()


class Writer:
    """Queue and thread; starts with the first write, opens the file then."""

    def __init__(
        self,
        path: Path,
        owner: str,
        *,
        fsync: bool,
        executing: Callable[[], Sequence[str]] = tuple,
        full_bytes: int = FULL_BYTES,
    ) -> None:
        """`executing` tells the ids of unsealed runs that somebody in this process is at work on."""
        self.path = path
        self.owner = owner
        self._executing = executing
        self.lost = 0
        """Runs and steps that were accepted for writing and could not be committed."""
        self.inbox: Inbox[Write | _Task] = Inbox(full_bytes)
        self._transactions = Transactions(path, fsync=fsync)
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._in_hand: list[Write | _Task] = []
        """The batch that the thread is at work on."""
        self._leases = 0
        """Unsealed runs of this owner that another process may be waiting for."""
        self._heartbeat = Chore(HEARTBEAT_S, self._renew_leases)
        self._crowded_until = 0.0
        """Until when several runs are taken to wait at once, as they lately did."""

    @property
    def lost_unsaved(self) -> int:
        """Of the lost, how many the file does not know of yet."""
        return self._transactions.lost_unsaved

    # any thread

    def post(self, write: Write) -> None:
        """Write behind. Blocks the thread while the queue is full, so that memory stays bounded."""
        self._put(write, awaited=False)
        if self.inbox.overdue:
            self._commit_here()

    async def submit(self, write: Write) -> None:
        """Write, and return when it is committed; raises StoreError when it cannot be."""
        if self._leases <= 1 and time.monotonic() > self._crowded_until and self._commit_here([write]):
            return
        write.waiter = asyncio.get_running_loop().create_future()
        self._put(write, awaited=True)
        await write.waiter

    def call(self, work: Callable[[sqlite3.Connection], _T], *, lease: bool = False) -> _T:
        """Run `work` in a transaction of its own after everything queued, and return what it returns. Blocks.

        With `lease` it has taken a run over, whose lease is to be renewed.
        """
        task = _Task(work, lease=lease)
        self._put(task, awaited=True)
        result: _T = task.future.result()
        return result

    def close(self) -> None:
        """Commit what is queued, give back the leases and close the file. Later writes are refused.

        Returns when that is done; called in the writer's own thread, which let go of the last write of a store that
        nobody holds any more, it is done afterwards.
        """
        self.inbox.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _put(self, item: Write | _Task, *, awaited: bool) -> None:
        if self._thread is None:
            self._start()
        if not self.inbox.put(item, awaited=awaited):
            raise StoreError(f"{self.path} was closed; open a new Store to go on")

    def _start(self) -> None:
        with self._starting:
            if self._thread is None and not self.inbox.closed:
                thread = threading.Thread(target=self._work, name=f"stretto-store {self.path.name}", daemon=True)
                thread.start()
                self._thread = thread

    def _commit_here(self, awaited: Sequence[Write] = ()) -> bool:
        """Commit in the caller's thread what is queued and what it waits for; False when the writer has to do it.

        One run at a time would wait for two changes of threads at each commit, which cost more than the commit
        (100 µs against 45, measured). Many at once are committed together by the writer, and lose nothing. It never
        waits: not for the writer, not for another process's lock, and not for the disk.
        """
        transactions = self._transactions
        if transactions.waits_for_disk or transactions.lost_unsaved or not transactions.is_open:
            return False
        batch = self.inbox.borrow()
        if batch is None:
            return False
        done = False
        try:
            done = self._commit_at_once([*(item for item in batch if isinstance(item, Write)), *awaited])
        finally:
            self.inbox.give_back([] if done else batch)
        if transactions.is_checkpoint_due:
            self.inbox.wake()
        return done

    def _commit_at_once(self, writes: Sequence[Write]) -> bool:
        """Commit borrowed work; False when it did not stand or the file is locked: nothing has changed."""
        try:
            self._transactions.run_at_once(lambda connection: apply(connection, writes))
        except (sqlite3.Error, RefusedError, OverflowError):  # the writer tries again, and says why
            return False
        self._committed(writes)
        return True

    # the writer's thread

    def _work(self) -> None:
        try:
            while self._take():
                self._process(self._in_hand)
                self._transactions.checkpoint()
                self._in_hand = []
            if self._transactions.is_open and (self._leases > 0 or self.lost_unsaved):
                self._set_leases((), until_ns=0)
        finally:  # also when it dies of a bug: nobody may wait for it for ever
            self._abandon()

    def _take(self) -> bool:
        """Wait for work; False when there will be none. Nothing that is done is held on to meanwhile."""
        self._in_hand = self.inbox.take(self._between_naps)
        return bool(self._in_hand)

    def _process(self, batch: Sequence[Write | _Task]) -> None:
        writes: list[Write] = []
        for item in batch:
            if isinstance(item, Write):
                writes.append(item)
                continue
            self._commit(writes)
            writes = []
            self._perform(item)
        self._commit(writes)

    def _commit(self, writes: list[Write]) -> None:
        """Commit writes together; when one of them does not stand, each by itself."""
        if not writes:
            return
        try:
            self._transactions.run(lambda connection: apply(connection, writes))
        except (RefusedError, sqlite3.IntegrityError, OverflowError) as error:
            if len(writes) > 1:
                for write in writes:
                    self._commit([write])
                return
            self._settle(writes, writes[0].refusal(error), refused=True)
        except StoreError as error:
            self._settle(writes, error)
        else:
            self._committed(writes)
            self._settle(writes, None)

    def _committed(self, writes: Sequence[Write]) -> None:
        self._leases += sum([write.leases for write in writes])
        self._transactions.wrote(sum([write.size for write in writes]))

    def _perform(self, task: _Task) -> None:
        """Run a task. The boundary: whatever it raises belongs to the thread that asked for it."""
        try:
            result = self._transactions.run(task.work)
        except BaseException as error:  # noqa: BLE001  # handed to the caller, who raises it
            task.future.set_exception(error)
        else:
            self._leases += task.lease
            task.future.set_result(result)

    def _settle(self, writes: Iterable[Write], error: StoreError | None, *, refused: bool = False) -> None:
        """Tell those who wait, once per event loop; count what is lost."""
        by_loop: dict[asyncio.AbstractEventLoop, list[Outcome]] = {}
        for write in writes:
            if write.waiter is not None:
                by_loop.setdefault(write.waiter.get_loop(), []).append((write.waiter, error))
            elif error is not None:
                if write.journal is not None:
                    write.journal.refused = error
                if not refused:
                    self.lost += write.records
                    self._transactions.lost_unsaved += write.records
        for loop, outcomes in by_loop.items():
            if len(outcomes) > 1:
                self._crowded_until = time.monotonic() + _CROWD_S
            _tell(loop, outcomes)

    def _abandon(self) -> None:
        """The thread ends: close the file, and refuse whatever is not done."""
        left = [*self._in_hand, *self.inbox.drain()]
        self._transactions.close()
        error = StoreError(f"{self.path}: its writer ended before this could be written")
        self._settle((item for item in left if isinstance(item, Write)), error)
        for item in left:
            if isinstance(item, _Task) and not item.future.done():
                item.future.set_exception(error)

    # leases

    def _between_naps(self) -> float | None:
        self._transactions.checkpoint()
        return self._heartbeat() if self._leases > 0 else None

    def _renew_leases(self) -> None:
        self._set_leases(self._executing(), until_ns=time.time_ns() + int(LEASE_S * 1e9))

    def _set_leases(self, run_ids: Sequence[str], *, until_ns: int) -> None:
        """Renew the leases of these runs and let go of all others that are this owner's.

        Failing is no harm: the next heartbeat tries again, and should a lease end, the fence still stands.
        """
        try:
            self._transactions.run(
                lambda connection: connection.execute(
                    "UPDATE runs SET lease_until_ns = iif(id IN (SELECT value FROM json_each(?3)), ?1, 0)"
                    " WHERE owner >= ?2 AND owner < ?2 || '0' AND status IS NULL",
                    (until_ns, self.owner, json.dumps(run_ids)),  # with any name behind it: '0' follows '/'
                )
            )
        except StoreError:
            return


def _tell(loop: asyncio.AbstractEventLoop, outcomes: list[Outcome]) -> None:
    try:
        loop.call_soon_threadsafe(_resolve, outcomes)
    except RuntimeError:  # the loop was closed, and with it whoever waited
        return


def _resolve(outcomes: list[Outcome]) -> None:
    for waiter, error in outcomes:
        if waiter.done():  # cancelled meanwhile
            continue
        if error is None:
            waiter.set_result(None)
        else:
            waiter.set_exception(StoreError(str(error), retryable=error.retryable))
