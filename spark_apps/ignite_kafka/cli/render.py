"""Results of :mod:`~ignite_kafka.admin` as text for a terminal.

Imports types only while type checking, so that a command loads no more of the library than it runs.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from .tables import table

if TYPE_CHECKING:
    from ..admin.backlog import BacklogView, CleanupResult, Resend
    from ..admin.offsets import AlteredOffset, ResetOffsets
    from ..admin.sink_offsets import MovedOffsets
    from ..admin.target_state import NewestRun, TargetStateChange

_MAX_UNITS = 50
_NEXT_START = {"PAUSED": "the next start begins paused", "RUNNING": "nothing runs until it is started again"}


class Result(Protocol):
    """A result that has a JSON form."""

    def to_dict(self) -> dict[str, object]:
        """The result as plain values."""


R = TypeVar("R", bound=Result)


def show(arguments: argparse.Namespace, result: R, text: Callable[[R], str]) -> int:
    """Print a result as JSON with ``--json``, else as text; returns exit code 0."""
    print(json.dumps(result.to_dict(), indent=2) if arguments.json else text(result))
    return 0


def target_state(change: TargetStateChange) -> str:
    """Two lines: the requested target state, and the state of the newest run."""
    newest = change.after or change.before
    return f"connector {change.name}: target state {change.target}\nrun {newest.run_id}: {_run_state(change, newest)}"


def _run_state(change: TargetStateChange, newest: NewestRun) -> str:
    if not newest.ended:
        late = change.after is not None
        return (
            f"{newest.state}, has not ended in that time; it may be dead if its driver is"
            if late
            else f"{newest.state}; it follows at its next batch"
        )
    assert newest.run is not None
    error = (
        ""
        if newest.graceful
        else f", {(newest.run.error or {}).get('type', 'no error given')}: see ignite-kafka status {change.name}"
    )
    if change.after:
        return f"ended {newest.state}{error}"
    return f"had ended before ({newest.state}{error}); {_NEXT_START.get(change.target, 'nothing runs')}"


def altered_offset(altered: AlteredOffset) -> str:
    """One line: the update numbers of a cache partition that count as sent, before and after."""
    before, after = (f"0 to {high}" if high >= 0 else "none" for high in (altered.before, altered.after))
    return f"cache {altered.cache}, partition {altered.partition}: numbers sent were {before}, are {after}"


def reset_offsets(reset: ResetOffsets) -> str:
    """One line a cache: how many of its partitions have no offset any more."""
    lines = [f"cache {cache}: {count:,} units forgotten" for cache, count in sorted(reset.units.items())]
    return "\n".join(lines) or "there were no offsets"


def moved_offsets(moved: MovedOffsets) -> str:
    """One line a topic partition: the next offset before and after."""
    lines = [
        f"topic {topic}, partition {partition}: next offset was {'none' if before < 0 else before}, is {after}"
        for (topic, partition), (before, after) in sorted(moved.offsets.items())
    ]
    rest = len(lines) - _MAX_UNITS
    return (
        "\n".join([*lines[:_MAX_UNITS], *([f"... and {rest:,} partitions more"] if rest > 0 else [])])
        or "there is no topic to read"
    )


def backlog(view: BacklogView) -> str:
    """The captured caches, and the backlog of each cache partition."""
    head = ("cache", "partition", "changes", "bytes", "low", "high", "marks")
    rows = [
        (u.cache, u.partition, u.changes, u.bytes, u.low, u.high, ", ".join(u.marks)) for u in view.units[:_MAX_UNITS]
    ]
    rest = len(view.units) - len(rows)
    changes = sum(u.changes for u in view.units)
    size = sum(u.bytes for u in view.units)
    marked = sum(bool(u.marks) for u in view.units)
    caches = [(c.cache, str(c.incarnation or "gone"), c.partitions) for c in view.caches]
    return "\n".join(
        [
            f"connector {view.connector}, capture {view.capture_id}, registered by {view.registered} nodes",
            *(f"node {line}" for line in view.nodes),
            "",
            table(("cache", "incarnation", "partitions"), caches),
            "",
            f"{changes:,} changes of {size:,} bytes in {len(view.units):,} units, {marked:,} marked",
            *([table(head, rows)] if rows else []),
            *([f"... and {rest:,} units more: --json shows all"] if rest else []),
        ]
    )


def resend(asked: Resend) -> str:
    """One line: the cache partitions that will be sent again."""
    what = f"partition {asked.partitions[0]}" if len(asked.partitions) == 1 else f"{len(asked.partitions):,} partitions"
    return f"cache {asked.cache}: {what} will be sent again by connector {asked.connector}, now if it runs, else when it starts"


def cleaned(removed: CleanupResult) -> str:
    """One line: what was removed from the nodes."""
    names = [f"{what} {name}" for what, name in (("service", removed.service), ("cache", removed.cache)) if name]
    return f"connector {removed.connector}: " + (f"removed {' and '.join(names)}" if names else "there was no backlog")
