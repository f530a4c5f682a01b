"""The command `status --watch`: a live view of connectors on a terminal, otherwise a line for each change."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from ..common.event_log import format_time
from ..errors import KafkaUnavailable
from .all_connectors import HEAD, ConnectorLine, ConnectorList, row_of
from .progress_bar import draws_in_place, format_rate, logs_above
from .tables import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

REFRESH_S = 2.0
"""Time between two looks, in seconds."""
DELETED = "DELETED"
"""State shown for a connector without records any more."""
_STYLES = {
    "RUNNING": "green",
    "COMPLETED": "green",
    "PAUSED": "yellow",
    "FAILED": "red",
    "LOST": "red",
    "UNKNOWN": "red",
}
_FIRST = ("FAILED", "LOST", "UNKNOWN", "FENCED", "RUNNING", "PAUSED")
Read = Callable[[], ConnectorList]


def watch(read: Read, *, as_json: bool, sleep: Callable[[float], None] = time.sleep) -> int:
    """Show connectors until Ctrl-C, with a look every :data:`REFRESH_S` seconds.

    A look that Kafka does not answer is reported and repeated.

    :param read: reads the connectors; a failure of the first look ends the command.
    :raises KeyboardInterrupt: Ctrl-C.
    """
    looks = _look(read, sleep)
    if as_json or not draws_in_place(sys.stdout):
        for line in _changes(looks, as_json=as_json):
            print(line, flush=True)
    else:
        _draw(looks)
    return 0


def _look(read: Read, sleep: Callable[[float], None]) -> Iterator[ConnectorList | KafkaUnavailable]:
    yield read()
    while True:
        sleep(REFRESH_S)
        try:
            yield read()
        except KafkaUnavailable as error:
            yield error


def _changes(looks: Iterator[ConnectorList | KafkaUnavailable], *, as_json: bool) -> Iterator[str]:
    """Yield a line for each connector that is different from the look before."""
    before: dict[str, ConnectorLine] = {}
    for look in looks:
        if isinstance(look, KafkaUnavailable):
            print(f"Kafka does not answer: {look}", file=sys.stderr)
            continue
        now = {line.name: line for line in look.connectors}
        deleted = [replace(line, state=DELETED) for name, line in before.items() if name not in now]
        changed = [line for name, line in now.items() if name not in before or _differs(line, before[name])]
        for line in (*changed, *deleted):
            yield json.dumps(asdict(line)) if as_json else _format(line)
        before = now


def _differs(line: ConnectorLine, before: ConnectorLine) -> bool:
    return replace(line, rate=None) != replace(before, rate=None)


def _format(line: ConnectorLine) -> str:
    parts = [
        f"{line.records:,} records",
        format_rate(line.rate, "records"),
        f"lag {line.lag:,}" if line.lag is not None else "",
        f"target state {line.target}" if line.target else "",
        f"{line.warnings:,} warnings" if line.warnings else "",
        f"{line.errors:,} errors" if line.errors else "",
        line.error or "",
    ]
    text = ", ".join(part for part in parts if part)
    return printable(f"{format_time(int(time.time() * 1000))} {line.name} {line.state}: run {line.run_id}, {text}")


def _draw(looks: Iterator[ConnectorList | KafkaUnavailable]) -> None:
    from rich.console import Console
    from rich.live import Live

    lines: Sequence[ConnectorLine] = ()
    stderr = sys.stderr
    display = Live(console=Console(file=sys.stdout), auto_refresh=False, redirect_stderr=stderr.isatty())
    with display as live, logs_above(stderr):
        for look in looks:
            problem = look if isinstance(look, KafkaUnavailable) else None
            lines = lines if isinstance(look, KafkaUnavailable) else look.connectors
            live.update(_make_table(lines, problem), refresh=True)


def _make_table(lines: Sequence[ConnectorLine], problem: KafkaUnavailable | None) -> RenderableType:
    """Return the table of the live view.

    Failed connectors come first, because a terminal may not have space for all.
    """
    from rich.table import Table
    from rich.text import Text

    looked = f"{len(lines):,} connectors at {format_time(int(time.time() * 1000))}; Ctrl-C ends"
    caption = f"Kafka does not answer, as of the last answer: {problem}" if problem else looked
    shown = Table(caption=Text(printable(caption)), box=None, pad_edge=False, expand=True)
    for name in HEAD:
        shown.add_column(name, justify="right" if name in ("records", "rate", "lag", "warnings", "errors") else "left")
    for line in sorted(lines, key=_order):
        cells = [f"{cell:,}" if isinstance(cell, int) else printable(str(cell)) for cell in row_of(line)]
        styles = {2: _STYLES.get(line.state, "")}
        shown.add_row(*(Text(cell, style=styles.get(column, "")) for column, cell in enumerate(cells)))
    return shown


def _order(line: ConnectorLine) -> tuple[int, str]:
    return _FIRST.index(line.state) if line.state in _FIRST else len(_FIRST), line.name
