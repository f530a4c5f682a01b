"""The comparison of all targets of a connector as Spark jobs.

1. Fingerprints of records and entries meet by key, which counts them and finds the suspects: keys whose bytes differ.
2. Suspects are read again, with all their bytes, and judged by their meaning; with a repair, what differs is sent or
   put again. As many at once as the driver holds fingerprints of; without suspects there is no second job.
3. Keys of a topic that the cache does not have are looked for among the cache's under other bytes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ..state.configs import MOST_PRODUCERS
from .comparison import Difference
from .direction import MOST_UNKNOWN, Found, Judged, Target
from .entry_comparison import Verified, fields_of_key, shown_key
from .exchange import Block, MakeExchange
from .fingerprints import ROW, Joined, Rows, join, last_of_keys, probe, sampled, within
from .routing import Routes, find_routes
from .task import Open, Share, Task, shares_of

_BUCKET_ROWS = 500_000
_BLOCK_ROWS = 200_000
_ROUND_SUSPECTS = 1_000_000
_JUDGED_BUCKET = 20_000
_SKEWED = 4
_FEW = 100
_MOST_UNKNOWN = 100 * MOST_UNKNOWN
_NONE = np.zeros(0, np.int64)

Progress = Callable[[str, int, int], None]
"""Called with what is done, and the numbers of ended tasks and of all tasks."""


def most_judging(cores: int) -> int:
    """Most tasks of a job that judges, and repairs, suspects.

    Of one round, twice, because it ends with a whole bucket.
    """
    return min(MOST_PRODUCERS, max(cores, 2 * _ROUND_SUSPECTS // _JUDGED_BUCKET))


@dataclass(frozen=True)
class VerifyJob:
    """A comparison.

    :param exchange: makes an exchange of blocks: :class:`~.exchange.Exchange`.
    :param cores: of Spark, by which the tasks are numbered.
    :param open: makes the direction on an executor.
    :param percent: of the keys, that are compared.
    :param first_counts: whether the first record of a key counts, not the last one.
    :param limit: maximum number of differences to describe, of each target.
    :param latest: gives the targets with their topics' ends of now: what differs at the first look counts only if it
        differs still.
    """

    exchange: MakeExchange
    cores: int
    targets: Sequence[Target]
    open: Open
    percent: float = 100
    first_counts: bool = False
    limit: int = 5
    repair: bool = False
    latest: Callable[[Sequence[Target]], Sequence[Target]] = lambda targets: targets
    log_values: bool = True
    progress: Progress = lambda _what, _done, _all: None
    buckets: int | None = None
    """Number of buckets; None: by the number of records and entries."""
    round_suspects: int = _ROUND_SUSPECTS

    def run(self, entries: int = 0) -> list[Judged]:
        """Compare, and repair if wanted; one result a target.

        :param entries: number of all caches' entries, if known, by which memory is planned.
        :raises IgniteKafkaError: what ended a task.
        """
        results = [Judged(Verified(target.cache, target.topic, limit=self.limit)) for target in self.targets]
        rows = sum(target.span for target in self.targets) + entries
        buckets = self.buckets or max(self.cores, -(-rows // _BUCKET_ROWS))
        task = self._task()
        shares = shares_of(self.targets, self.cores)
        unknown = defaultdict[int, Counter[str]](Counter)
        read = partial(_fingerprint_blocks, task, buckets)
        reduce = partial(_joined, task)
        with closing(self.exchange(shares, read, reduce, buckets, partial(self.progress, "comparing"))) as compare:
            joined_buckets = compare.collect(_counts)
            for joined in joined_buckets:
                joined.add_to(results)
            task = replace(task, incomplete=frozenset(number for joined in joined_buckets for number, _ in joined.bad))
            for group in _rounds([joined.suspects for joined in joined_buckets], self.round_suspects):
                again = replace(task, targets=tuple(self.latest(self.targets)), suspects=_suspects(compare.of(group)))
                for number, judged in self._judge(shares, again):
                    results[number].result.add(judged.result)
                    results[number].repaired += judged.repaired
                    if len(unknown[number]) < _MOST_UNKNOWN:
                        unknown[number] += judged.unknown
        if any(unknown.values()):
            self._look_for_other_bytes(shares, replace(task, unknown=dict(unknown)), results)
        return results

    def routes(self) -> Routes:
        """The caches of routed topics' records, found by reading these topics.

        :raises IgniteKafkaError: the error that ended a task.
        """
        return find_routes(
            self.exchange, self._task(), self.cores, partial(self.progress, "looking for the caches of records")
        )

    def _task(self) -> Task:
        return Task(
            tuple(self.targets), self.open, self.percent, self.first_counts, self.limit, self.log_values, probe()
        )

    def _judge(self, shares: Sequence[Share], task: Task) -> Iterator[tuple[int, Judged]]:
        """Read the suspects in full and judge them: numbers of targets, and the differences of a bucket."""
        count = sum(map(len, task.suspects.values()))
        buckets = min(most_judging(self.cores), self.buckets or max(self.cores, -(-count // _JUDGED_BUCKET)))
        read = partial(_full_blocks, task, buckets)
        reduce = partial(_judged, task, self.repair)
        follow = partial(self.progress, "repairing" if self.repair else "judging")
        with closing(self.exchange(shares, read, reduce, buckets, follow)) as judge:
            for judged_of in judge.collect(lambda item: item):
                yield from judged_of.items()

    def _look_for_other_bytes(self, shares: Sequence[Share], task: Task, results: Sequence[Judged]) -> None:
        """Count the unexpected keys in JSON that a cache has in other bytes."""
        caches = [share for share in shares if not share.topic]
        follow = partial(self.progress, "looking for other keys")
        with closing(self.exchange(caches, partial(_other_keys, task), _merged, 1, follow)) as look:
            (keys_of,) = look.collect(lambda item: item)
        for number, keys in keys_of.items():
            result = results[number].result
            result.other_bytes = sum(task.unknown[number][fields] for fields in keys)
            result.noted = [_in_other_bytes(item, keys) for item in result.noted]


@dataclass(frozen=True)
class _Bad:
    """Entries or records that could not be converted."""

    topic: bool
    texts: tuple[str, ...]
    count: int


@dataclass(frozen=True)
class _Repeated:
    """Records that are not compared, because another record of their key is."""

    count: int


@dataclass
class _Bucket:
    """Counts of a bucket by the number of the target."""

    joined: dict[int, Joined] = field(default_factory=dict)
    bad: list[tuple[int, _Bad]] = field(default_factory=list)
    repeated: Counter[int] = field(default_factory=Counter)
    suspects: int = 0

    def add_to(self, results: Sequence[Judged]) -> None:
        """Add the counts to the results."""
        for number, joined in self.joined.items():
            result = results[number].result
            result.records += joined.records
            result.repeated += joined.repeated
            result.entries += joined.entries
        for number, count in self.repeated.items():
            results[number].result.records += count
            results[number].result.repeated += count
        for number, bad in self.bad:
            _add_bad(results[number].result, bad)


def _add_bad(result: Verified, bad: _Bad) -> None:
    before = result.skipped
    for text in bad.texts:
        what = "a record cannot be converted to an entry" if bad.topic else "an entry cannot be converted to a record"
        result.note("skipped", b"", f"{what}: {text}")
    result.skipped = before + bad.count
    if bad.topic:
        result.records += bad.count
    else:
        result.entries += bad.count


def _fingerprint_blocks(task: Task, buckets: int, share: Share) -> Iterator[Block]:
    """Fingerprints of a share by buckets of keys."""
    with task.begin() as direction:
        held = defaultdict[int, list[Rows]](list)
        count = 0
        for number, batch in task.batches(direction, share):
            if batch.bad:
                yield 0, (number, _Bad(share.topic, tuple(batch.bad[: task.limit]), len(batch.bad)))
            held[number].append(batch.rows[sampled(batch.rows, task.percent)])
            count += len(held[number][-1])
            if count >= _BLOCK_ROWS:  # of all targets: a share may have very many
                yield from _blocks_of(task, held, share.topic, buckets)
                held.clear()
                count = 0
        yield from _blocks_of(task, held, share.topic, buckets)


def _blocks_of(task: Task, held: Mapping[int, Sequence[Rows]], topic: bool, buckets: int) -> Iterator[Block]:
    for number, rows in held.items():
        yield from _by_bucket(task, number, topic, np.concatenate(rows), buckets)


def _by_bucket(task: Task, number: int, topic: bool, rows: Rows, buckets: int) -> Iterator[Block]:
    """Yield blocks of fingerprints; in overfull buckets, records surely not the last of their key are only counted."""
    most = _SKEWED * len(rows) // buckets + _FEW
    bucket = (rows["low"] % np.uint64(buckets)).astype(np.int64)
    order = np.argsort(bucket, kind="stable")
    cuts = np.flatnonzero(np.diff(bucket[order])) + 1
    for part in np.split(order, cuts):
        if len(part):
            of_bucket = rows[part]
            if topic and len(part) > most:
                of_bucket = of_bucket[last_of_keys(of_bucket, first=task.first_counts)]
                yield int(bucket[part[0]]), (number, _Repeated(len(part) - len(of_bucket)))
            yield int(bucket[part[0]]), (number, (topic, of_bucket.tobytes()))


def _joined(task: Task, blocks: Iterator[tuple[int, Any]]) -> _Bucket:
    """The join of each target's fingerprints in a bucket."""
    parts: dict[int, tuple[list[bytes], list[bytes]]] = {}
    bucket_result = _Bucket()
    for number, block in blocks:
        if isinstance(block, _Bad):
            bucket_result.bad.append((number, block))
        elif isinstance(block, _Repeated):
            bucket_result.repeated[number] += block.count
        else:
            parts.setdefault(number, ([], []))[block[0]].append(block[1])
    for number, (cache, topic) in parts.items():
        rows = (np.frombuffer(b"".join(part), ROW) for part in (topic, cache))
        bucket_result.joined[number] = join(*rows, first=task.first_counts)
    bucket_result.suspects = sum(len(part.suspects) for part in bucket_result.joined.values())
    return bucket_result


def _counts(bucket: _Bucket) -> _Bucket:
    """The bucket without its suspects, which stay on the executors."""
    counts = {number: replace(joined, suspects=joined.suspects[:0]) for number, joined in bucket.joined.items()}
    return replace(bucket, joined=counts)


def _rounds(suspects: Sequence[int], most: int) -> Iterator[list[int]]:
    """Numbers of buckets whose suspects are together at most `most`, or of one bucket.

    Those without any are left out.
    """
    group: list[int] = []
    held = 0
    for bucket, count in enumerate(suspects):
        if count and group and held + count > most:
            yield group
            group = []
            held = 0
        if count:
            group.append(bucket)
            held += count
    if group:
        yield group


def _suspects(buckets: Iterable[_Bucket]) -> dict[int, Rows]:
    rows_of: dict[int, list[Rows]] = defaultdict(list)
    for bucket in buckets:
        for number, joined in bucket.joined.items():
            rows_of[number].append(joined.suspects)
    return {
        number: np.sort(np.concatenate(parts), order=["high", "low"])
        for number, parts in rows_of.items()
        if sum(map(len, parts))
    }


def _full_blocks(task: Task, buckets: int, share: Share) -> Iterator[Block]:
    """Suspects of a share with all their bytes, by buckets of keys."""
    own = task.of_suspects(share)
    if not own.partitions:
        return
    with task.begin() as direction:
        for number, batch in task.batches(direction, own, again=True):
            at = within(batch.rows, task.suspects[number]) if number in task.suspects else _NONE
            if share.topic:  # a key may have many records; only one of each batch can be the compared one
                at = at[last_of_keys(batch.rows[at], first=task.first_counts)]
            bucket = (batch.rows["low"][at] % np.uint64(buckets)).astype(np.int64)
            for bucket_number in np.unique(bucket).tolist():
                chosen = at[bucket == bucket_number]
                yield bucket_number, (number, (share.topic, batch.rows[chosen], batch.columns(chosen)))


def _judged(task: Task, repair: bool, blocks: Iterator[tuple[int, Any]]) -> dict[int, Judged]:
    """The differences of each target's suspects in a bucket."""
    parts: dict[int, tuple[Found, Found]] = {}
    for number, (topic, rows, columns) in blocks:
        parts.setdefault(number, (Found(), Found()))[topic].add(rows, columns)
    if not parts:
        return {}
    with task.begin() as direction:
        return {
            number: direction.judge(
                task.targets[number], topic, cache, repair=repair, complete=number not in task.incomplete
            )
            for number, (cache, topic) in parts.items()
        }


def _other_keys(task: Task, share: Share) -> Iterator[Block]:
    """Keys of caches that have the fields of unexpected ones."""
    with task.begin() as direction:
        for number, batch in task.batches(direction, share, again=True):
            unknown = task.unknown.get(number)
            keys = batch.keys.to_pylist() if unknown and batch.keys is not None else []
            key_of = {
                fields: key for key in keys if (fields := fields_of_key(key)) is not None and fields in (unknown or ())
            }
            if key_of:
                yield 0, (number, key_of)


def _merged(blocks: Iterator[tuple[int, dict[str, bytes]]]) -> dict[int, dict[str, bytes]]:
    merged: dict[int, dict[str, bytes]] = defaultdict(dict)
    for number, keys in blocks:
        merged[number].update(keys)
    return dict(merged)


def _in_other_bytes(difference: Difference, keys: Mapping[str, bytes]) -> Difference:
    same = keys.get(fields_of_key(difference.key) or "")
    if difference.kind != "unexpected" or same is None:
        return difference
    other = (
        f"key {shown_key(difference.key)} is {shown_key(same)} in other bytes, which Kafka does not compact together"
    )
    return replace(difference, text=f"{other}: send the cache to a new topic")
