"""The command `signal`: ad-hoc snapshots of a connector, requested, changed and listed."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SettingsError
from ..state.signal_records import MOST_BYTES, CacheSelection
from . import render
from .arguments import whole
from .command_settings import secrets_of, settings_of
from .tables import table

if TYPE_CHECKING:
    from ..admin.signals import RequestedSignals, SignalList, SignalView

Command = Callable[[argparse.Namespace], int]


def add_signal(commands: Any, add_shared: Callable[[argparse.ArgumentParser, Command], object]) -> None:
    """Add the command `signal`.

    :param add_shared: adds the arguments that commands with a connector's name share.
    """
    text = "ad-hoc snapshots of a streaming source: request, list, pause, resume and stop them"
    parser = commands.add_parser("signal", help=text, description=text)
    parser.add_argument("name", metavar="NAME", help="the connector's name")
    actions = parser.add_subparsers(required=True, metavar="ACTION")

    def add_action(name: str, command: Command, text: str) -> argparse.ArgumentParser:
        action: argparse.ArgumentParser = actions.add_parser(name, help=text, description=text)
        add_shared(action, command)
        return action

    text = "send entries of caches again, beside the stream and in order with its changes"
    added = add_action("snapshot", snapshot, text)
    added.add_argument("--cache", action="append", required=True, metavar="CACHE", help="a cache; may be repeated")
    added.add_argument("--where", default="", metavar="CONDITION", help="only entries that meet it (docs/filter.md)")
    added.add_argument(
        "--keys", metavar="FILE", help="only these keys of one cache: a record key of the topic on each line"
    )
    added.add_argument(
        "--partitions", type=_partitions, default=(), metavar="N,…", help="only these Ignite partitions, such as 0,7-9"
    )
    added.add_argument("--id", metavar="ID", help="id of the signal, which is done once (default: a new one)")
    add_action("list", show, "list signals with their progress, rate and time left")
    for name, what in (("pause", "pause"), ("resume", "resume"), ("stop", "end")):
        changing = add_action(name, change, f"{what} signals that have not ended")
        changing.add_argument("--id", metavar="ID", help="one signal (default: all that have not ended)")
        changing.set_defaults(action=name)


def snapshot(arguments: argparse.Namespace) -> int:
    """Request an ad-hoc snapshot."""
    from ..admin.signals import request_snapshot

    keys = _read_keys(arguments.keys) if arguments.keys else ()
    if len(arguments.cache) > 1 and (keys or arguments.partitions):
        raise SettingsError("keys and partitions are of one cache", "Give --cache once.", caches=arguments.cache)
    selections = [CacheSelection(cache, arguments.where, keys, arguments.partitions) for cache in arguments.cache]
    requested = request_snapshot(
        settings_of(arguments), secrets_of(arguments), selections, arguments.id, "command line"
    )
    return render.show(arguments, requested, requested_text)


def change(arguments: argparse.Namespace) -> int:
    """Pause, resume or stop signals."""
    from ..admin.signals import change_signals

    changed = change_signals(settings_of(arguments), secrets_of(arguments), arguments.action, arguments.id)
    return render.show(arguments, changed, requested_text)


def show(arguments: argparse.Namespace) -> int:
    """List the signals of a connector."""
    from ..admin.signals import list_signals

    return render.show(arguments, list_signals(settings_of(arguments), secrets_of(arguments)), signals_text)


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


def _partitions(text: str) -> tuple[int, ...]:
    """Parse partitions and ranges of partitions, separated by commas."""
    partitions: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        start = whole(first)
        end = whole(last or first)
        if end >= _MOST_PARTITIONS or start > end:
            raise argparse.ArgumentTypeError(f"{part} is no partition, and no range of partitions")
        partitions += range(start, end + 1)
    return tuple(dict.fromkeys(partitions))


def requested_text(requested: RequestedSignals) -> str:
    """Describe a request in two lines."""
    ids = ", ".join(requested.ids)
    first = f"connector {requested.connector}: {requested.action} of signal {ids} is requested"
    if requested.repeated:
        return f"connector {requested.connector}: signal {ids} was requested before, and is done once"
    if requested.run_ended:
        return f"{first}\nno run is active: the connector's next run follows it"
    return f"{first}\nprogress: ignite-kafka signal {requested.connector} list"


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


def _row(signal: SignalView) -> tuple[object, ...]:
    total = signal.total
    rate = None if signal.records_per_second is None else round(signal.records_per_second)
    state = f"{signal.state} ({signal.requested} requested)" if signal.requested else signal.state
    left = "" if signal.left_s is None else f"{round(signal.left_s):,} s"
    return signal.id, state, ", ".join(signal.caches), total.units, total.units_done, total.records, rate, left
