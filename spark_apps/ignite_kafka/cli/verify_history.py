"""The command `verify history`: the last comparisons of a connector as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..common.event_log import format_time
from ..common.time_spans import format_span
from . import render
from .arguments import CommandArguments
from .command_settings import secrets_of, settings_of
from .tables import table

if TYPE_CHECKING:
    from ..admin.comparison_history import ConnectorComparisons
    from ..state.comparison_history import PastComparison

_HEAD = ("compared", "took", "keys %", "caches", "entries", "missing", "different", "unexpected", "repaired", "equal")


def verify_history(arguments: CommandArguments) -> int:
    """Show the last comparisons of a connector."""
    from ..admin.comparison_history import comparisons_of

    return render.show(arguments, comparisons_of(settings_of(arguments), secrets_of(arguments)), history_text)


def history_text(history: ConnectorComparisons) -> str:
    """Return a table of the comparisons, newest first, and since when all keys are compared."""
    newest = history.newest
    if newest is None:
        return f"connector {history.connector} was never compared"
    return "\n".join([table(_HEAD, [_row(past) for past in history.comparisons]), *describe_coverage(newest)])


def describe_coverage(newest: PastComparison) -> list[str]:
    """Return sentences on which keys are compared by now."""
    caches = f"{newest.caches} cache" if newest.caches == 1 else f"{newest.caches} caches"
    covered = (
        f"some keys of {caches} were never compared"
        if newest.oldest_ms is None
        else f"all keys of {caches} were compared since {format_time(newest.oldest_ms)}"
    )
    within = f"; to be compared within {format_span(newest.within_ms)}" if newest.within_ms else ""
    return [f"{covered}{within}", *([f"not in time: {newest.gap}"] if newest.gap else [])]


def _row(past: PastComparison) -> tuple[object, ...]:
    return (
        format_time(past.started_ms),
        format_span(past.ended_ms - past.started_ms),
        f"{past.percent:g}",
        past.caches,
        past.entries,
        past.missing,
        past.different,
        past.unexpected,
        past.repaired,
        "yes" if past.equal else "NO",
    )
