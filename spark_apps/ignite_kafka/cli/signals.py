"""The command `signal`: ad-hoc snapshots of a connector, requested, changed and listed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SettingsError
from ..state.signal_records import MOST_BYTES, CacheSelection
from . import render
from .arguments import CommandArguments
from .command_settings import secrets_of, settings_of
from .tables import table

if TYPE_CHECKING:
    from ..admin.signals import RequestedSignals, SignalList, SignalView

_SHOWN_CACHES = 10


def signal(arguments: CommandArguments) -> int:
    """Request an ad-hoc snapshot, list signals, or pause, resume or stop them."""
    if arguments.action == "snapshot":
        return _snapshot(arguments)
    misplaced = [name for name in ("cache", "where", "keys", "partitions") if getattr(arguments, name)]
    if misplaced:
        raise SettingsError(
            f"--{misplaced[0]} is an argument of signal NAME snapshot", "Leave it out.", action=arguments.action
        )
    if arguments.action == "list":
        from ..admin.signals import list_signals

        return render.show(arguments, list_signals(settings_of(arguments), secrets_of(arguments)), signals_text)
    from ..admin.signals import change_signals

    changed = change_signals(settings_of(arguments), secrets_of(arguments), arguments.action, arguments.id)
    return render.show(arguments, changed, requested_text)


def _snapshot(arguments: CommandArguments) -> int:
    from ..admin.signals import request_snapshot

    caches = arguments.cache or ()
    keys = _read_keys(arguments.keys) if arguments.keys else ()
    partitions = _partitions(arguments.partitions) if arguments.partitions else ()
    if not caches:
        raise SettingsError("no cache is given", "Give --cache CACHE, once or several times.", action="snapshot")
    if len(caches) > 1 and (keys or partitions):
        raise SettingsError("keys and partitions are of one cache", "Give --cache once.", caches=", ".join(caches))
    selections = [CacheSelection(cache, arguments.where or "", keys, partitions) for cache in caches]
    requested = request_snapshot(
        settings_of(arguments), secrets_of(arguments), selections, arguments.id, "command line"
    )
    return render.show(arguments, requested, requested_text)


def _read_keys(path: str) -> tuple[str, ...]:
    """Read keys from a file, one on each line; blank lines are skipped.

    :raises SettingsError: the file cannot be read, is too large for a signal, or has no keys.
    """
    try:
        with Path(path).open(encoding="utf-8") as file:
            text = file.read(MOST_BYTES + 1)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"the file of keys cannot be read: {error}", "Give a text file in UTF-8.") from error
    if len(text) > MOST_BYTES:
        raise SettingsError(f"the file of keys has more than {MOST_BYTES:,} bytes", "Divide it.", file=path)
    keys = tuple(line.strip() for line in text.splitlines() if line.strip())
    if not keys:
        raise SettingsError("the file of keys has none", "Give a record key on each line.", file=path)
    return keys


_MOST_PARTITIONS = 65_000  # Ignite's limit
_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


def _partitions(text: str) -> tuple[int, ...]:
    """Parse partitions and ranges of partitions, separated by commas.

    :raises SettingsError: a part is no partition, and no range of partitions.
    """
    partitions: list[int] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        start, end = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if start > end or end >= _MOST_PARTITIONS:
            raise SettingsError(
                f"{part!r} is no partition, and no range of partitions", "Give them as 0,7-9.", partitions=text[:200]
            )
        partitions += range(start, end + 1)
    return tuple(dict.fromkeys(partitions))


def requested_text(requested: RequestedSignals, *, names_list: bool = True) -> str:
    """Describe a request in one line or two.

    :param names_list: name the command that shows the progress.
    """
    ids = ", ".join(requested.ids)
    first = f"connector {requested.connector}: {requested.action} of signal {ids} is requested"
    if requested.repeated:
        return f"connector {requested.connector}: signal {ids} was requested before, and is done once"
    if requested.run_ended:
        return f"{first}\nno run is active: the connector's next run follows it"
    return first if not names_list else f"{first}\nprogress: ignite-kafka signal {requested.connector} list"


def signals_text(signals: SignalList) -> str:
    """Return a table of signals, and why failed ones failed."""
    if not signals.signals:
        return f"connector {signals.connector} has no signals"
    head = ("signal", "state", "caches", "partitions", "done", "records", "records/s", "time left")
    rows = [_row(signal) for signal in signals.signals]
    failed = [f"{signal.id}: {signal.error}" for signal in signals.signals if signal.error]
    waits = signals.run_ended and any(signal.ended_ms is None for signal in signals.signals)
    return "\n".join(
        [
            table(head, rows),
            *(["", *failed] if failed else []),
            *(["", "no run is active: the connector's next run continues them"] if waits else []),
        ]
    )


def describe_signal(signal: SignalView) -> str:
    """Describe a signal in one line: progress, rate, time left, and why it failed."""
    total = signal.total
    caches = f": {', '.join(signal.caches[:_SHOWN_CACHES])}" if signal.caches else ""
    parts = [f"signal {signal.id} is {signal.state}{caches}"]
    if total.units:
        parts.append(f"{total.units_done:,} of {total.units:,} partitions, {total.records:,} records")
    if signal.records_per_second is not None:
        parts.append(f"{signal.records_per_second:,.0f} records/s")
    if signal.left_s is not None:
        parts.append(f"about {signal.left_s:,.0f} s left")
    if signal.error:
        parts.append(signal.error)
    return "; ".join(parts)


def _row(signal: SignalView) -> tuple[object, ...]:
    total = signal.total
    rate = None if signal.records_per_second is None else round(signal.records_per_second)
    state = f"{signal.state} ({signal.requested} requested)" if signal.requested else signal.state
    left = "" if signal.left_s is None else f"{round(signal.left_s):,} s"
    return signal.id, state, ", ".join(signal.caches), total.units, total.units_done, total.records, rate, left
