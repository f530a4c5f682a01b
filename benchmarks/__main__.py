"""`python -m benchmarks`: start the servers, load the data, let the contenders take turns, print the report."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tools.servers.jars import CHECKOUT, WORK

from . import tables
from .parts import copy, growth, idle, read, sink, stream
from .report import Section, document, section_text, updated
from .stack import FULL, QUICK, Stack

PAGE = CHECKOUT / "docs" / "benchmarks.md"
_EMPTY = tables.trades("nothing")
Part = Callable[[Stack, Callable[[str], None]], Section]
PARTS: dict[str, Part] = {
    "read": read.one_connection,
    "copy": copy.whole,
    "spark-read": read.through_spark,
    "fused": copy.fused,
    "sink": sink.whole,
    "produce": copy.queueing,
    "growth": growth.tenfold,
    "growth-sink": growth.tenfold_sink,
    "empty": lambda stack, tell: read.empty_units(stack, _EMPTY.cache, tell),
    "capture": stream.capture,
    "catchup": stream.catch_up,
    "latency": stream.latency,
    "idle": idle.idle,
    "units": growth.many_units,  # last: it simulates Ignite in workers that quick parts share
}


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks", description="Ours and the peers in turn on the same servers and data.")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, about a minute: whether the harness works; its figures say nothing"
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=f"some of: {', '.join(PARTS)}")
    parser.add_argument(
        "--write", action="store_true", help=f"write the report to {PAGE.relative_to(CHECKOUT)} too; of some parts, their sections"
    )
    return parser.parse_args(words)


def run(parts: Sequence[str], *, quick: bool, work: Path, tell: Callable[[str], None]) -> list[Section]:
    """Measure the parts on servers of their own, with files under ``work``."""
    with Stack(work, QUICK if quick else FULL) as stack:
        tell("loading")
        address = stack.ignite.address
        tables.load(address, tables.TRADES, stack.sizes.trades, sql=True)
        tables.load(address, tables.WIDE, stack.sizes.wide, sql=True)
        tables.make_cache(address, _EMPTY)
        sections = []
        for part in parts:
            tell(part)
            section = PARTS[part](stack, tell)
            sections.append(section)
            tell(f"\n{section_text(section)}\n")
        return sections


def main(words: Sequence[str] | None = None) -> int:
    chosen = arguments(words)
    started = time.monotonic()
    WORK.mkdir(exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="bench-", dir=WORK))
    try:
        sections = run(chosen.parts, quick=chosen.quick, work=work, tell=lambda text: print(text, flush=True))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    command = (
        "make bench" if chosen.parts == list(PARTS) and not chosen.quick else f"python -m benchmarks {' '.join(words or sys.argv[1:])}"
    )
    text = document(sections, command, time.monotonic() - started)
    if chosen.write:
        PAGE.write_text(text if chosen.parts == list(PARTS) else updated(PAGE.read_text(), sections, command))
    print(text.split("\n\n## ", 1)[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
