"""Spark jobs that compare all topics of a connector with their caches.

1. Join the fingerprints of records and entries by key: count them, and find the suspects, keys with differing bytes.
2. Read the suspects again, with all their bytes, and judge them by their meaning; a repair sends or puts again what
   differs. The driver holds the fingerprints of a limited number of suspects, so there is a job for each such group.
3. Search the cache's keys for unexpected keys of the topic under other bytes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ..state.configs import MOST_PRODUCERS
from .differences import Difference
from .direction import MOST_UNKNOWN, ComparedPair, Judged
from .entry_comparison import PairDifferences, format_key, normalize_fields
from .exchange import Block, Buckets, MakeExchange
from .fingerprint_join import JoinResult, find_keys, find_last_of_keys, join_fingerprints
from .fingerprints import ROW, Rows, probe
from .key_slices import select_slices
from .looks import MOST_LOOKS, Look, judge_bucket
from .routed_caches import Routes, find_routes
from .task import Open, Share, Task, distribute

_BUCKET_ROWS = 500_000
_BLOCK_ROWS = 200_000
_GROUP_SUSPECTS = 1_000_000
_JUDGED_BUCKET = 20_000
_SKEWED = 4
_FEW = 100
_MOST_UNKNOWN = 100 * MOST_UNKNOWN
_NONE = np.zeros(0, np.int64)

Unknown = Mapping[int, Counter[str]]
"""Fields of unexpected JSON keys with the number of keys, by number of the pair."""
Progress = Callable[[str, int, int], None]
"""Callback with the step's name, the number of ended tasks and the number of all tasks."""


def max_judging_tasks(cores: int) -> int:
    """Return the maximum number of tasks of a repair, each of which has a transactional producer.

    It is twice the number for one group of suspects, because the last bucket of a group may exceed its maximum.
    """
    return min(MOST_PRODUCERS, max(cores, 2 * _GROUP_SUSPECTS // _JUDGED_BUCKET))


@dataclass(frozen=True)
class VerifyJob:
    """Comparison of all pairs of cache and topic of a connector, in up to three kinds of Spark jobs.

    :param exchange: makes an exchange of blocks: :class:`~.exchange.Exchange`.
    :param cores: number of Spark's cores, for the number of tasks.
    :param open: makes the direction on an executor.
    :param first_counts: the first record of a key counts, not the last record.
    :param limit: maximum number of described differences a pair.
    :param latest: returns the pairs with the current ends of their topics: a suspect of step 1 counts as different only
        if it still differs in step 2.
    :param repair_at_most: maximum number of differences that are repaired; if there are more, none is. 0: no maximum.
    :param settle: waits until the connector has copied what it has to copy now, and returns whether it has; None: no
        run copies beside the comparison, so each difference counts at once.
    """

    exchange: MakeExchange
    cores: int
    pairs: Sequence[ComparedPair]
    open: Open
    first_counts: bool = False
    limit: int = 5
    repair: bool = False
    repair_at_most: int = 0
    settle: Callable[[], bool] | None = None
    latest: Callable[[Sequence[ComparedPair]], Sequence[ComparedPair]] = lambda pairs: pairs
    log_values: bool = True
    progress: Progress = lambda _what, _done, _all: None
    buckets: int | None = None
    """Number of buckets; None: computed from the number of records and entries."""
    group_suspects: int = _GROUP_SUSPECTS
    """Maximum number of suspects that are judged at once; a group has at least one bucket."""

    def run(self, entries: int = 0) -> list[Judged]:
        """Compare all pairs of cache and topic, repair if requested, and return a result for each pair.

        1. Join fingerprints.
        2. Judge the suspects, group by group.
        3. Search for unexpected keys under other bytes.

        :param entries: number of entries of all caches, for the number of buckets; 0: unknown.
        :raises IgniteKafkaError: the error that ended a task.
        """
        results = [Judged(PairDifferences(pair.cache, pair.topic, limit=self.limit)) for pair in self.pairs]
        rows = sum(pair.span for pair in self.pairs) + entries
        buckets = self.buckets or max(self.cores, -(-rows // _BUCKET_ROWS))
        task = self._make_task()
        shares = distribute(self.pairs, self.cores)
        read = partial(_read_fingerprints, task, buckets)
        reduce = partial(_join_bucket, task)
        # 1. fingerprints
        with closing(self.exchange(shares, read, reduce, buckets, partial(self.progress, "comparing"))) as compare:
            joined_buckets = compare.collect(_drop_suspects)
            for joined in joined_buckets:
                joined.add_to(results)
            task = replace(task, incomplete=frozenset(number for joined in joined_buckets for number, _ in joined.bad))
            # 2. suspects
            groups = list(_group_buckets([joined.suspects for joined in joined_buckets], self.group_suspects))
            suspects = sum(joined.suspects for joined in joined_buckets)
            repair = self.repair
            unknown: Unknown | None = None
            if repair and 0 < self.repair_at_most < suspects:
                counted = deepcopy(results)
                unknown = self._judge_groups(shares, task, compare, groups, counted, repair=False)
                repair = sum(judged.result.count for judged in counted) <= self.repair_at_most
                results = results if repair else counted
            if repair or unknown is None:
                unknown = self._judge_groups(shares, task, compare, groups, results, repair=repair)
        # 3. other bytes
        if any(unknown.values()):
            self._count_other_bytes(shares, replace(task, unknown=dict(unknown)), results)
        return results

    def _judge_groups(
        self,
        shares: Sequence[Share],
        task: Task,
        compare: Buckets,
        groups: Sequence[Sequence[int]],
        results: Sequence[Judged],
        *,
        repair: bool,
    ) -> Unknown:
        """Judge all suspects group by group, add the counts to the results, and return the unexpected JSON keys."""
        unknown = defaultdict[int, Counter[str]](Counter)
        for group in groups:
            suspects = _merge_suspects(bucket.suspects_by_pair() for bucket in compare.fetch(group))
            for number, judged in self._judge_group(shares, task, suspects, repair=repair):
                results[number].add(judged)
                if len(unknown[number]) < _MOST_UNKNOWN:
                    unknown[number] += judged.unknown
        return unknown

    def _judge_group(
        self, shares: Sequence[Share], task: Task, suspects: Mapping[int, Rows], *, repair: bool
    ) -> Iterator[tuple[int, Judged]]:
        """Look at suspects until each is equal or differs after the lag has passed; yield pair number and result."""
        look = Look.FINAL if self.settle is None or repair else Look.FIRST
        for _ in range(MOST_LOOKS):
            moved = []
            again = replace(task, pairs=tuple(self.latest(self.pairs)), suspects=suspects)
            for number, judged in self._judge(shares, again, look, repair=repair):
                yield number, judged
                moved.append({number: judged.moved})
            suspects = _merge_suspects(moved)
            if not suspects or self.settle is None:
                return
            look = Look.AGAIN if self.settle() else Look.FINAL
        for number, rows in suspects.items():
            pair = self.pairs[number]
            yield number, Judged(PairDifferences(pair.cache, pair.topic, changing=len(rows)))

    def find_routes(self) -> Routes:
        """Count by cache the records of topics whose transforms choose a cache for each record.

        :raises IgniteKafkaError: the error that ended a task.
        """
        return find_routes(
            self.exchange, self._make_task(), self.cores, partial(self.progress, "looking for the caches of records")
        )

    def _make_task(self) -> Task:
        return Task(tuple(self.pairs), self.open, self.first_counts, self.limit, self.log_values, probe())

    def _judge(self, shares: Sequence[Share], task: Task, look: Look, *, repair: bool) -> Iterator[tuple[int, Judged]]:
        """Read suspect keys again with all bytes, compare and repair them; yield pair number and result."""
        count = sum(map(len, task.suspects.values()))
        buckets = min(max_judging_tasks(self.cores), self.buckets or max(self.cores, -(-count // _JUDGED_BUCKET)))
        read = partial(_read_suspects, task, buckets)
        reduce = partial(judge_bucket, task, look, repair)
        follow = partial(self.progress, "repairing" if repair else "judging")
        with closing(self.exchange(shares, read, reduce, buckets, follow)) as judge:
            for judged_of in judge.collect(lambda item: item):
                yield from judged_of.items()

    def _count_other_bytes(self, shares: Sequence[Share], task: Task, results: Sequence[Judged]) -> None:
        """Count unexpected topic keys that equal a cache key as JSON but not in bytes."""
        caches = [share for share in shares if not share.topic]
        follow = partial(self.progress, "looking for other keys")
        with closing(self.exchange(caches, partial(_find_other_keys, task), _merge, 1, follow)) as look:
            (keys_of,) = look.collect(lambda item: item)
        for number, keys in keys_of.items():
            result = results[number].result
            result.other_bytes = sum(task.unknown[number][fields] for fields in keys)
            result.noted = [_describe_other_bytes(item, keys) for item in result.noted]


@dataclass(frozen=True)
class _Bad:
    """Count and error texts of entries or records that could not be converted."""

    topic: bool
    texts: tuple[str, ...]
    count: int


@dataclass(frozen=True)
class _Repeated:
    """Number of records left out of the shuffle, because a later record of the key follows."""

    count: int


@dataclass
class _Bucket:
    """Result of a bucket of keys: joined fingerprints and counts for each pair of cache and topic."""

    joined: dict[int, JoinResult] = field(default_factory=dict)
    bad: list[tuple[int, _Bad]] = field(default_factory=list)
    repeated: Counter[int] = field(default_factory=Counter)
    suspects: int = 0

    def suspects_by_pair(self) -> dict[int, Rows]:
        """Return the fingerprints of suspects by number of their pair."""
        return {number: joined.suspects for number, joined in self.joined.items()}

    def add_to(self, results: Sequence[Judged]) -> None:
        """Add the bucket's counts to the pairs' results."""
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


def _add_bad(result: PairDifferences, bad: _Bad) -> None:
    before = result.skipped
    for text in bad.texts:
        what = "a record cannot be converted to an entry" if bad.topic else "an entry cannot be converted to a record"
        result.note("skipped", b"", f"{what}: {text}")
    result.skipped = before + bad.count
    if bad.topic:
        result.records += bad.count
    else:
        result.entries += bad.count


def _read_fingerprints(task: Task, buckets: int, share: Share) -> Iterator[Block]:
    """Read partitions of a topic or cache, and yield fingerprints in blocks by bucket of keys."""
    with task.begin() as direction:
        held = defaultdict[int, list[Rows]](list)
        count = 0
        for number, batch in task.read_batches(direction, share):
            if batch.bad:
                yield 0, (number, _Bad(share.topic, tuple(batch.bad[: task.limit]), len(batch.bad)))
            held[number].append(batch.rows[select_slices(batch.rows, task.pairs[number].slices)])
            count += len(held[number][-1])
            if count >= _BLOCK_ROWS:  # of all pairs: a share may have very many
                yield from _split_blocks(task, held, share.topic, buckets)
                held.clear()
                count = 0
        yield from _split_blocks(task, held, share.topic, buckets)


def _split_blocks(task: Task, held: Mapping[int, Sequence[Rows]], topic: bool, buckets: int) -> Iterator[Block]:
    for number, rows in held.items():
        yield from _group_by_bucket(task, number, topic, np.concatenate(rows), buckets)


def _group_by_bucket(task: Task, number: int, topic: bool, rows: Rows, buckets: int) -> Iterator[Block]:
    """Split fingerprints into blocks by bucket; an overfull bucket keeps only the last record of each key."""
    most = _SKEWED * len(rows) // buckets + _FEW
    bucket = (rows["low"] % np.uint64(buckets)).astype(np.int64)
    order = np.argsort(bucket, kind="stable")
    cuts = np.flatnonzero(np.diff(bucket[order])) + 1
    for part in np.split(order, cuts):
        if len(part):
            of_bucket = rows[part]
            if topic and len(part) > most:
                of_bucket = of_bucket[find_last_of_keys(of_bucket, first=task.first_counts)]
                yield int(bucket[part[0]]), (number, _Repeated(len(part) - len(of_bucket)))
            yield int(bucket[part[0]]), (number, (topic, of_bucket.tobytes()))


def _join_bucket(task: Task, blocks: Iterator[tuple[int, Any]]) -> _Bucket:
    """Join the fingerprints of topic and cache in one bucket, for each pair."""
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
        bucket_result.joined[number] = join_fingerprints(*rows, first=task.first_counts)
    bucket_result.suspects = sum(len(part.suspects) for part in bucket_result.joined.values())
    return bucket_result


def _drop_suspects(bucket: _Bucket) -> _Bucket:
    """Copy a bucket's result without its suspect keys, which stay on the executor until needed."""
    counts = {number: replace(joined, suspects=joined.suspects[:0]) for number, joined in bucket.joined.items()}
    return replace(bucket, joined=counts)


def _group_buckets(suspects: Sequence[int], most: int) -> Iterator[list[int]]:
    """Group bucket numbers so that each group has at most `most` suspect keys, to bound the driver's memory.

    A single bucket may have more. Buckets without suspects are left out.

    :param suspects: number of suspects of each bucket.
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


def _merge_suspects(parts: Iterable[Mapping[int, Rows]]) -> dict[int, Rows]:
    """Join and sort the fingerprints of suspects by number of their pair, without pairs that have none."""
    rows_of: dict[int, list[Rows]] = defaultdict(list)
    for part in parts:
        for number, rows in part.items():
            rows_of[number].append(rows)
    return {
        number: np.sort(np.concatenate(of_pair), order=["high", "low"])
        for number, of_pair in rows_of.items()
        if sum(map(len, of_pair))
    }


def _read_suspects(task: Task, buckets: int, share: Share) -> Iterator[Block]:
    """Read a task's suspect keys again, and yield their full bytes in blocks by bucket of keys."""
    own = task.select_suspects(share)
    if not own.partitions:
        return
    with task.begin() as direction:
        for number, batch in task.read_batches(direction, own, again=True):
            at = find_keys(batch.rows, task.suspects[number]) if number in task.suspects else _NONE
            if share.topic:  # a key may have many records; at most one of each batch is compared
                at = at[find_last_of_keys(batch.rows[at], first=task.first_counts)]
            bucket = (batch.rows["low"][at] % np.uint64(buckets)).astype(np.int64)
            for bucket_number in np.unique(bucket).tolist():
                chosen = at[bucket == bucket_number]
                yield bucket_number, (number, (share.topic, batch.rows[chosen], batch.take(chosen)))


def _find_other_keys(task: Task, share: Share) -> Iterator[Block]:
    """Yield cache keys that equal an unexpected topic key as JSON but not in bytes."""
    with task.begin() as direction:
        for number, batch in task.read_batches(direction, share, again=True):
            unknown = task.unknown.get(number)
            keys = batch.keys.to_pylist() if unknown and batch.keys is not None else []
            key_of = {
                fields: key
                for key in keys
                if (fields := normalize_fields(key)) is not None and fields in (unknown or ())
            }
            if key_of:
                yield 0, (number, key_of)


def _merge(blocks: Iterator[tuple[int, dict[str, bytes]]]) -> dict[int, dict[str, bytes]]:
    merged: dict[int, dict[str, bytes]] = defaultdict(dict)
    for number, keys in blocks:
        merged[number].update(keys)
    return dict(merged)


def _describe_other_bytes(difference: Difference, keys: Mapping[str, bytes]) -> Difference:
    own = keys.get(normalize_fields(difference.key) or "")
    if difference.kind != "unexpected" or own is None:
        return difference
    other = (
        f"key {format_key(difference.key)} is {format_key(own)} in other bytes, which Kafka does not compact together"
    )
    return replace(difference, text=f"{other}: send the cache to a new topic")
