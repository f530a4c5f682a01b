"""Contenders in turn: every round runs each contender once, so that other load of the machine falls on all of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .contender import Contender, Round

SERVERS = ("ignite", "broker")

Log = Callable[[str], None]
"""Prints a line of progress."""


@dataclass(frozen=True)
class Case:
    """One thing to measure.

    :param label: name of its row in the table.
    :param prepare: called before each round, and not measured.
    """

    label: str
    contender: Contender
    request: Mapping[str, Any]
    prepare: Callable[[], None] = field(default=lambda: None)

    def run(self) -> Round:
        """One round."""
        self.prepare()
        return self.contender.round(**self.request)


@dataclass(frozen=True)
class Series:
    """The rounds of one case: the cold first one, and the warm ones."""

    label: str
    start_seconds: float
    cold: Round
    warm: tuple[Round, ...]

    @property
    def per_second(self) -> float:
        """Median of the warm rounds."""
        return statistics.median(one.per_second for one in self.warm)

    @property
    def seconds(self) -> float:
        """Median seconds of the warm rounds."""
        return statistics.median(one.seconds for one in self.warm)

    def microseconds(self, *roles: str) -> float:
        """CPU of some roles together, median microseconds an entry over the warm rounds."""
        return statistics.median(sum(map(one.microseconds, roles)) for one in self.warm)

    @property
    def own_roles(self) -> tuple[str, ...]:
        """Processes of the contender itself."""
        return tuple(sorted({role for one in self.warm for role in one.cpu_seconds} - set(SERVERS)))

    @property
    def peak_mib(self) -> Mapping[str, float]:
        """Peak memory of each of the contender's own roles, in MiB."""
        return {role: max(one.peak_mib.get(role, 0.0) for one in (self.cold, *self.warm)) for role in self.own_roles}


def warm(rounds: Sequence[Round]) -> tuple[Round, ...]:
    """Return the rounds after the cold first one; of a quick run, which has only that one, the cold one."""
    return tuple(rounds[1:] or rounds)


def in_turn(cases: Sequence[Case], rounds: int, log: Log) -> dict[str, Series]:
    """Run one cold round of each case, then ``rounds`` warm ones, by turns."""
    found: dict[str, list[Round]] = {case.label: [] for case in cases}
    for number in range(rounds + 1):
        for case in cases:
            one = case.run()
            found[case.label].append(one)
            turn = "cold" if number == 0 else f"round {number}"
            log(f"  {turn}: {case.label}: {one.entries:,} in {one.seconds:.2f} s, {one.per_second:,.0f}/s")
    return {
        case.label: Series(case.label, case.contender.start_seconds, found[case.label][0], warm(found[case.label]))
        for case in cases
    }


def ratio(ours: Series, peer: Series) -> float:
    """How many times as fast: the median over the rounds of the ratio within one round."""
    return statistics.median(one.per_second / other.per_second for one, other in zip(ours.warm, peer.warm, strict=True))


def cpu_ratio(ours: Series, peer: Series) -> float:
    """How many times as little CPU an entry, servers included."""
    pairs = zip(ours.warm, peer.warm, strict=True)
    return statistics.median(
        sum(map(other.microseconds, other.cpu_seconds)) / sum(map(one.microseconds, one.cpu_seconds))
        for one, other in pairs
    )
