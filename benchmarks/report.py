"""What a run prints, and writes to docs/benchmarks.md: plain Markdown that also reads well in a terminal."""

from __future__ import annotations

import os
import platform
import subprocess
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from .rounds import SERVERS, Series, cpu_ratio, ratio


@dataclass(frozen=True)
class Table:
    """Headers and rows of texts; the first column is left-aligned."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Section:
    """One part of the report."""

    title: str
    about: str
    tables: tuple[Table, ...] = ()
    findings: tuple[str, ...] = field(default=())


def wrapped(text: str, indent: str = "") -> str:
    """A paragraph or list item in lines of at most 118 characters."""
    return textwrap.fill(text, 118, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def table_text(table: Table) -> str:
    """Return the table in Markdown, its columns aligned."""
    widths = [max(map(len, column)) for column in zip(table.headers, *table.rows, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    lines = [table.headers, tuple(rule), *table.rows]
    cells = [
        [
            text.ljust(width) if not at else text.rjust(width)
            for at, (text, width) in enumerate(zip(line, widths, strict=True))
        ]
        for line in lines
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def section_text(section: Section) -> str:
    """Return the section in Markdown: title, text, tables, findings."""
    parts = [f"## {section.title}", wrapped(section.about), *map(table_text, section.tables)]
    if section.findings:
        parts.append("\n".join(wrapped(f"- {finding}", "  ") for finding in section.findings))
    return "\n\n".join(parts)


def series_table(series: Sequence[Series]) -> Table:
    """Speed, and CPU of each process; medians of the warm rounds."""
    headers = (
        "",
        "cold/s",
        "warm/s",
        "least..most",
        "own CPU µs",
        "driver",
        "JVM",
        "workers",
        "Ignite µs",
        "broker µs",
        "all µs",
    )
    return Table(headers, tuple(map(_series_row, series)))


def _series_row(one: Series) -> tuple[str, ...]:
    speeds = [each.per_second for each in one.warm]
    own = [f"{one.microseconds(role):.2f}" if role in one.own_roles else "" for role in ("python", "jvm", "worker")]
    return (
        one.label,
        f"{one.cold.per_second:,.0f}",
        f"{one.per_second:,.0f}",
        f"{min(speeds):,.0f}..{max(speeds):,.0f}",
        f"{one.microseconds(*one.own_roles):.2f}",
        *own,
        *(f"{one.microseconds(server):.2f}" for server in SERVERS),
        f"{one.microseconds(*one.own_roles, *SERVERS):.2f}",
    )


def ratio_text(what: str, ours: Series, peer: Series, goal: float | None = None) -> str:
    """One finding: how many times as fast, and as little CPU; whether the goal is reached."""
    found = ratio(ours, peer)
    outcome = "" if goal is None else f" (goal {goal:g}: {'reached' if found >= goal else 'not reached'})"
    return f"{what}: **{found:.2f}** times as fast{outcome}; {cpu_ratio(ours, peer):.2f} times as little CPU an entry, servers included"


def document(sections: Sequence[Section], command: str, seconds: float) -> str:
    """The whole page."""
    written = f"Written by `{command}` on {time.strftime('%Y-%m-%d', time.gmtime())} in {seconds / 60:.0f} minutes; do not edit."
    method = (
        "One Ignite node and one Kafka broker share the machine with the copy, so CPU time an entry says more than entries a second. "
        "Contenders take turns on the same servers and data; figures are medians of the warm rounds, ratios are medians of the ratios "
        "within one round. *cold* is a process's first round, *warm* every later one. µs are microseconds of CPU an entry, from "
        "/proc/<pid>/stat: *driver* is a Python process, *JVM* a Java process (Spark's, or the peer itself), *workers* are Spark's Python "
        "workers."
    )
    return (
        "\n\n".join(["# Benchmarks", wrapped(f"{written} {machine()}"), wrapped(method), *map(section_text, sections)])
        + "\n"
    )


def updated(page: str, sections: Sequence[Section], command: str) -> str:
    """A page that was written before with these sections in the place of older ones, or behind them, and a line that says so."""
    head, *old = page.rstrip("\n").split("\n\n## ")
    texts = {text.split("\n", 1)[0]: f"## {text}" for text in old}
    texts |= {section.title: section_text(section) for section in sections}
    titles = ", ".join(f"*{section.title}*" for section in sections)
    date, load = time.strftime("%Y-%m-%d", time.gmtime()), os.getloadavg()[1]
    line = wrapped(
        f"Measured later, by `{command}` on {date}, load of the last five minutes at the end {load:.1f}: {titles}."
    )
    return "\n\n".join([head, line, *texts.values()]) + "\n"


def machine() -> str:
    """Processor, memory, versions and load: without them a figure says nothing."""
    cpu = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        "?",
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr.split('"')[1]
    packages = ", ".join(
        f"{name} {version(name)}" for name in ("pyspark", "pyarrow", "polars", "confluent-kafka", "pyignite")
    )
    load = os.getloadavg()[1]
    return (
        f"Machine: {os.cpu_count()} cores ({cpu}), {memory:.0f} GiB; Python {platform.python_version()}, Java {java}, {packages}. "
        f"Load of the last five minutes at the end: {load:.1f}."
    )
