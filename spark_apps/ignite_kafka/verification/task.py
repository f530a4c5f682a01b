"""What the tasks of a comparison share: the targets, how the process is prepared, and the batches of a task's part of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ..common.redaction import set_log_values
from ..runtime.memory import tune_allocation
from .direction import Batch, Direction, Target
from .fingerprints import Rows, check_probe

_SHARES_A_CORE = 2

Open = Callable[[], Direction]
"""Makes the direction, on an executor."""


@dataclass(frozen=True)
class Share:
    """What one task reads: of each target, by its number, partitions of the topic or of the cache."""

    topic: bool
    partitions: Mapping[int, Sequence[int]]


def shares_of(targets: Sequence[Target], cores: int) -> list[Share]:
    """Partitions of topics and of caches over the tasks; topics first, as they must be read before the caches."""
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
    """What the tasks know.

    :param suspects: sorted fingerprints of the keys to read in full, by the number of their target.
    :param unknown: of unexpected keys in JSON the fields and their number, by the number of their target.
    :param incomplete: numbers of the targets of which some entries or records could not be converted.
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

    def begin(self) -> Direction:
        """Prepare the process, and make the direction."""
        tune_allocation()
        set_log_values(self.log_values)
        check_probe(self.probe)
        return self.open()

    def batches(self, direction: Direction, share: Share, *, again: bool = False) -> Iterator[tuple[int, Batch]]:
        """Numbers of targets, and batches of what the share has of them.

        Records of caches that are no targets are left out.
        """
        for number, partitions in share.partitions.items():
            target = self.targets[number]
            read = direction.records(target, partitions) if share.topic else direction.entries(target, partitions, again=again)
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
