"""What it costs programs to write a cache that other clusters write, too."""

from __future__ import annotations

from dataclasses import dataclass

from .. import tables
from ..contender import Contender
from ..report import Section, Table, ratio_text, series_table
from ..rounds import Case, Log, in_turn
from ..stack import RANKED, SHARED, Stack

_ALONE = "alone"
_CACHES = {_ALONE: "of one cluster", SHARED: "shared", RANKED: "shared, by a field"}
_THREADS, _BATCH = 2, 1_000


@dataclass(frozen=True)
class _Writes:
    """One kind of writes.

    :param count: entries of a round.
    :param batch: entries of a request.
    :param removals: whether the entries are removed; else they are put.
    """

    name: str
    count: int
    batch: int
    removals: bool = False

    def case(self, stack: Stack, writers: Contender, cache: str, atomicity: str) -> Case:
        """A case that writes a new cache in each round, which has the entries that are removed."""
        address, table = stack.ignite.address, tables.trades(cache)

        def prepare() -> None:
            tables.destroy(address, cache)
            tables.make_cache(address, table, atomicity=atomicity)
            if self.removals:
                tables.put(address, table, 0, self.count)

        request = {"address": address, "cache": cache, "threads": _THREADS, "puts": self.count, "batch": self.batch}
        label = f"{self.name}, {atomicity}: {_CACHES[cache]}"
        return Case(label, writers, {**request, "removals": self.removals}, prepare)


def writers(stack: Stack, log: Log) -> Section:
    """Two writers of caches that one cluster or several write, by turns on the same node."""
    kinds = (
        _Writes("put", stack.sizes.puts, 1),
        _Writes(f"putAll of {_BATCH:,}", stack.sizes.put_alls, _BATCH),
        _Writes(f"removeAll of {_BATCH:,}", stack.sizes.put_alls, _BATCH, removals=True),
    )
    of_kinds = [_compared(stack, kind, atomicity, log) for atomicity in ("ATOMIC", "TRANSACTIONAL") for kind in kinds]
    about = (
        f"{_THREADS} threads with a Java thin client each put six-field objects under random keys, or remove entries, of a cache that is "
        "made anew before each round. The caches that are shared are compared by order and cluster (decisions/0061-active-active.md), one "
        "of them by a field of the value first (decisions/0063-field-of-conflicts.md). Every write is accepted; none comes from another "
        "cluster. *Ignite* is the node, with all that the comparison does there."
    )
    return Section(
        "What active-active costs writers",
        about,
        tuple(table for table, _ in of_kinds),
        tuple(finding for _, findings in of_kinds for finding in findings),
    )


def _compared(stack: Stack, kind: _Writes, atomicity: str, log: Log) -> tuple[Table, list[str]]:
    with stack.java("Puts") as contender:
        cases = [kind.case(stack, contender, cache, atomicity) for cache in _CACHES]
        alone, *shared = in_turn(cases, stack.sizes.stream_rounds, log).values()
    for cache in _CACHES:
        tables.destroy(stack.ignite.address, cache)
    return series_table([alone, *shared]), [
        ratio_text(f"{one.label}, against one cluster", one, alone) for one in shared
    ]
