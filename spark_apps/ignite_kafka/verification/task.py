"""Common code of a comparison's tasks: the targets, process preparation, and the batches of a task's share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..common.redaction import hidden_values, hide_values, set_log_values
from ..runtime.memory import return_free_memory, tune_allocation
from ..settings.topic_names import reserve, reserved
from .direction import Batch, Direction, Target
from .fingerprints import Rows, check_probe

_SHARES_A_CORE = 2

Open = Callable[[], Direction]
"""Creates the direction on an executor."""


@dataclass(frozen=True)
class Share:
    """Partitions that one task reads, of topics or of caches, by the number of the target."""

    topic: bool
    partitions: Mapping[int, Sequence[int]]


def shares_of(targets: Sequence[Target], cores: int) -> list[Share]:
    """Distribute the partitions of topics and caches over tasks.

    Topics first, because they must be read before the caches.
    """
    count = max(1, _SHARES_A_CORE * cores)
    shares = []
    for topic in (True, False):
        parts: list[dict[int, list[int]]] = [defaultdict(list) for _ in range(count)]
        for number, target in enumerate(targets):
            for partition in range(len(target.ends) if topic else target.partitions):
                parts[(partition + number) % count].setdefault(number, []).append(partition)
        shares += [Share(topic, dict(part)) for part in parts if part]
    return shares


@dataclass(frozen=True)
class Task:
    """Data that every task has.

    :param suspects: sorted fingerprints of the keys to read in full, by the number of their target.
    :param unknown: fields of unexpected JSON keys with the number of keys, by the number of their target.
    :param incomplete: numbers of the targets with entries or records that could not be converted.
    :param hidden: values that messages hide.
    :param prefixes: of internal topics of others.
    """

    targets: Sequence[Target]
    open: Open
    percent: float
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
        """Prepare the process, and create the direction."""
        tune_allocation()
        return_free_memory()
        set_log_values(self.log_values)
        hide_values(self.hidden)
        reserve(self.prefixes)
        check_probe(self.probe)
        return self.open()

    def batches(self, direction: Direction, share: Share, *, again: bool = False) -> Iterator[tuple[int, Batch]]:
        """The batches of a share, each with the number of its target.

        Records of caches without a target are ignored.
        """
        for number, partitions in share.partitions.items():
            target = self.targets[number]
            read = (
                direction.records(target, partitions)
                if share.topic
                else direction.entries(target, partitions, again=again)
            )
            for batch in read:
                goes_to = number if batch.cache is None else self._numbers.get(batch.cache)
                if goes_to is not None:
                    yield goes_to, batch

    def of_suspects(self, share: Share) -> Share:
        """The part of a share that may have suspects."""
        parts = {
            number: partitions
            for number, partitions in share.partitions.items()
            if number in self.suspects or (share.topic and self.targets[number].routed)
        }
        return Share(share.topic, parts)

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        """Number of the target of each cache."""
        return {target.cache: number for number, target in enumerate(self.targets)}
