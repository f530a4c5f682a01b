"""Spark tasks of a comparison: which partitions a task reads, and how its process is prepared."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..common.redaction import hidden_values, register_hidden_values, set_log_values
from ..runtime.memory import return_free_memory, tune_allocation
from ..settings.topic_names import reserve, reserved
from .direction import Batch, ComparedPair, Direction
from .fingerprints import Rows, check_probe

_SHARES_A_CORE = 2

Open = Callable[[], Direction]
"""Factory that creates the direction on an executor."""


@dataclass(frozen=True)
class Share:
    """Topic or cache partitions that one Spark task reads, by number of the compared pair."""

    topic: bool
    partitions: Mapping[int, Sequence[int]]


def distribute(pairs: Sequence[ComparedPair], cores: int) -> list[Share]:
    """Distribute all topic and cache partitions over Spark tasks.

    Topics come first, because they must be read before the caches.
    """
    count = max(1, _SHARES_A_CORE * cores)
    shares = []
    for topic in (True, False):
        parts: list[dict[int, list[int]]] = [defaultdict(list) for _ in range(count)]
        for number, pair in enumerate(pairs):
            for partition in range(len(pair.ends) if topic else pair.partitions):
                parts[(partition + number) % count].setdefault(number, []).append(partition)
        shares += [Share(topic, dict(part)) for part in parts if part]
    return shares


@dataclass(frozen=True)
class Task:
    """Data that every Spark task of a comparison gets from the driver.

    :param suspects: sorted fingerprints of the keys to read in full, by the number of their pair.
    :param unknown: fields of unexpected JSON keys with the number of keys, by the number of their pair.
    :param incomplete: numbers of the pairs with entries or records that could not be converted.
    :param hidden: values that messages hide.
    :param prefixes: prefixes of internal topics of other connectors.
    """

    pairs: Sequence[ComparedPair]
    open: Open
    first_counts: bool
    limit: int
    log_values: bool
    probe: tuple[int, ...]
    suspects: Mapping[int, Rows] = field(default_factory=dict)
    unknown: Mapping[int, Counter[str]] = field(default_factory=dict)
    incomplete: frozenset[int] = frozenset()
    hidden: tuple[str, ...] = field(default_factory=hidden_values)
    prefixes: tuple[str, ...] = field(default_factory=reserved)

    def begin(self) -> Direction:
        """Prepare the Python worker, check its hash function, and open the connections of source or sink."""
        tune_allocation()
        return_free_memory()
        set_log_values(self.log_values)
        register_hidden_values(self.hidden)
        reserve(self.prefixes)
        check_probe(self.probe)
        return self.open()

    def read_batches(self, direction: Direction, share: Share, *, again: bool = False) -> Iterator[tuple[int, Batch]]:
        """Read a share's partitions in batches, and yield each batch with the number of its pair.

        Records of caches without a pair are ignored.
        """
        for number, partitions in share.partitions.items():
            pair = self.pairs[number]
            batches = (
                direction.read_records(pair, partitions)
                if share.topic
                else direction.read_entries(pair, partitions, again=again)
            )
            for batch in batches:
                own = number if batch.cache is None else self._number_of_cache.get(batch.cache)
                if own is not None:
                    yield own, batch

    def select_suspects(self, share: Share) -> Share:
        """Keep only the pairs of a share with suspect keys, so that the second reading is shorter."""
        parts = {
            number: partitions
            for number, partitions in share.partitions.items()
            if number in self.suspects or (share.topic and self.pairs[number].routed)
        }
        return Share(share.topic, parts)

    @cached_property
    def _number_of_cache(self) -> Mapping[str, int]:
        """Pair number by cache name."""
        return {pair.cache: number for number, pair in enumerate(self.pairs)}
