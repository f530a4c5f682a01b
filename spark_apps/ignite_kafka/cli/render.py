"""Texts for a terminal, made of the results of :mod:`~ignite_kafka.admin`.

Types are imported only for type checking, so that a command loads only the needed parts of the library.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from .tables import printable, table

if TYPE_CHECKING:
    from ..admin.backlog import BacklogView, CleanupResult, Resend
    from ..admin.connector_events import ConnectorEvents
    from ..admin.offsets import AlteredOffset, ResetOffsets
    from ..admin.sink_offsets import MovedOffsets
    from ..admin.target_state import NewestRun, TargetStateChange
    from ..common.event_log import Occurrence
    from .arguments import CommandArguments

_MAX_UNITS = 50
_NEXT_START = {"PAUSED": "the next start begins paused", "RUNNING": "nothing runs until it is started again"}


class Result(Protocol):
    """A result with a JSON form."""

    def to_dict(self) -> dict[str, object]:
        """Return the result as JSON values."""


R = TypeVar("R", bound=Result)


def show(arguments: CommandArguments, result: R, text: Callable[[R], str]) -> int:
    """Print a result as JSON with ``--json``, otherwise as text; return exit code 0."""
    if arguments.json:
        print_json(result.to_dict())
    else:
        print(text(result))
    return 0


def print_json(value: object) -> None:
    """Print a result in JSON, indented."""
    print(json.dumps(value, indent=2))


def events(shown: ConnectorEvents) -> str:
    """Return a table of the events, the last one first, and cause and remedy of each warning and error."""
    from ..common.event_log import format_time
    from ..event_descriptions import CAUSES, severity_of
    from ..events import EVENTS

    rows = []
    remedies = []
    for id, count in shown.in_order():
        text = count.newest[-1].text if count.newest else ""
        # as text, because ids have no thousands separators
        rows.append((format_time(count.last_ms), severity_of(id), str(id), count.count, text))
        if id in EVENTS and EVENTS[id].severity > logging.INFO and EVENTS[id].action:
            cause = CAUSES.get(EVENTS[id], "")
            remedies.append(f"{id}: {cause} {EVENTS[id].action}" if cause else f"{id}: {EVENTS[id].action}")
    if not rows:
        return f"connector {shown.connector} has no events"
    shown_table = table(("last", "severity", "id", "count", "newest text"), rows)
    return "\n".join([shown_table, "", *remedies] if remedies else [shown_table])


def event_line(id: int, occurrence: Occurrence, *, as_json: bool) -> str:
    """Return a line for one occurrence."""
    from ..common.event_log import format_time
    from ..event_descriptions import describe_event, severity_of

    at = format_time(occurrence.at_ms)
    if not as_json:
        return f"{at} {severity_of(id)} {id} # {printable(occurrence.text)}"
    return json.dumps({**describe_event(id), "at": at, "text": occurrence.text, "fields": dict(occurrence.fields)})


def target_state(change: TargetStateChange) -> str:
    """Return two lines: the requested target state, and the state of the newest run."""
    newest = change.after or change.before
    return (
        f"connector {change.name}: target state {change.target}\nrun {newest.run_id}: {_describe_run(change, newest)}"
    )


def _describe_run(change: TargetStateChange, newest: NewestRun) -> str:
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
    """Return a line with a cache partition's highest update counter counted as sent, before and after the change."""
    before, after = (f"0 to {high}" if high >= 0 else "none" for high in (altered.before, altered.after))
    return f"cache {altered.cache}, partition {altered.partition}: numbers sent were {before}, are {after}"


def reset_offsets(reset: ResetOffsets) -> str:
    """Return a line for each cache with the number of partitions whose offset was removed."""
    lines = [f"cache {cache}: {count:,} units forgotten" for cache, count in sorted(reset.units.items())]
    return "\n".join(lines) or "there were no offsets"


def moved_offsets(moved: MovedOffsets) -> str:
    """Return a line for each topic partition with its next offset before and after the change."""
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
    """Return the captured caches and the backlog of each cache partition, as two tables."""
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


def resend(marked: Resend) -> str:
    """Return a line with the cache partitions to be sent again."""
    count = len(marked.partitions)
    what = f"partition {marked.partitions[0]}" if count == 1 else f"{count:,} partitions"
    sender = f"will be sent again by connector {marked.connector}"
    return f"cache {marked.cache}: {what} {sender}, now if it runs, else when it starts"


def cleaned(removed: CleanupResult) -> str:
    """Return a line with the service and the cache removed from the nodes."""
    names = [f"{what} {name}" for what, name in (("service", removed.service), ("cache", removed.cache)) if name]
    return f"connector {removed.connector}: " + (f"removed {' and '.join(names)}" if names else "there was no backlog")
