"""`python -m benchmarks`: starts the servers, loads the data, measures the contenders in turn, and prints the report."""

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
from .parts import (
    active_active,
    converters,
    copy,
    filtered,
    growth,
    idle,
    memory,
    metrics,
    read,
    sink,
    stream,
    transforms,
    verify,
)
from .report import Section, document, section_text, updated
from .rounds import Log
from .stack import FULL, QUICK, Stack

PAGE = CHECKOUT / "docs" / "benchmarks.md"
_EMPTY = tables.trades("nothing")
Part = Callable[[Stack, Log], Section]
PARTS: dict[str, Part] = {
    "read": read.one_connection,
    "copy": copy.whole,
    "spark-read": read.through_spark,
    "fused": copy.fused,
    "sink": sink.whole,
    "sink-strict": sink.strict,
    "verify": verify.beside_the_copy,
    "converters": converters.both_directions,
    "transforms": transforms.both_directions,
    "filter": filtered.kept_few,
    "produce": copy.queueing,
    "growth": growth.tenfold,
    "growth-sink": growth.tenfold_sink,
    "growth-verify": growth.tenfold_verify,
    "memory": memory.by_converters,
    "empty": lambda stack, log: read.empty_units(stack, _EMPTY.cache, log),
    "capture": stream.capture,
    "active-active": active_active.writers,
    "catchup": stream.catch_up,
    "queries": stream.queries,
    "latency": stream.latency,
    "idle": idle.idle,
    "metrics": metrics.cost,
    "units": growth.many_units,  # last: it simulates Ignite in workers that quick parts share
}


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description="Ours and the peers in turn on the same servers and data."
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="small sizes, about a minute: tests that the benchmarks run; its figures mean nothing",
    )
    parser.add_argument(
        "--parts", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help=f"some of: {', '.join(PARTS)}"
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help=f"write the report to {PAGE.relative_to(CHECKOUT)} too; of some parts, their sections",
    )
    return parser.parse_args(words)


def run(parts: Sequence[str], *, quick: bool, work: Path, log: Log) -> list[Section]:
    """Measure the parts on new servers, with files under ``work``."""
    with Stack(work, QUICK if quick else FULL) as stack:
        log("loading")
        address = stack.ignite.address
        tables.load(address, tables.TRADES, stack.sizes.trades, sql=True)
        tables.load(address, tables.WIDE, stack.sizes.wide, sql=True)
        tables.make_cache(address, _EMPTY)
        sections = []
        for part in parts:
            log(part)
            section = PARTS[part](stack, log)
            sections.append(section)
            log(f"\n{section_text(section)}\n")
        return sections


def main(words: Sequence[str] | None = None) -> int:
    """Measure the chosen parts, print and write the report; 0."""
    chosen = arguments(words)
    started = time.monotonic()
    WORK.mkdir(exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix="bench-", dir=WORK))
    try:
        sections = run(chosen.parts, quick=chosen.quick, work=work, log=lambda text: print(text, flush=True))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    command = (
        "make bench"
        if chosen.parts == list(PARTS) and not chosen.quick
        else f"python -m benchmarks {' '.join(words or sys.argv[1:])}"
    )
    text = document(sections, command, time.monotonic() - started)
    if chosen.write:
        PAGE.write_text(text if chosen.parts == list(PARTS) else updated(PAGE.read_text(), sections, command))
    print(text.split("\n\n## ", 1)[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
