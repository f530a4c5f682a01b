"""`python -m benchmarks --quick`: parts run on real servers and every figure is there. What the figures are is not tested."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from benchmarks.__main__ import PARTS
from tools.servers.jars import CHECKOUT, WORK

_FINDINGS = (
    "trades: to Arrow against Java's field-by-field scan",
    "trades: to Arrow against pyignite's scan",
    "trades: JSON against Java by hand",
    "wide: Ignite binary against our JSON",
    "trades: data source against JDBC",
    "Fused against two sources",
    "trades, to Kafka: JSON with schemas against JSON",
    "wide, to Ignite: Avro against JSON",
    "Batch against a call each",
    "Ten times the entries take at most",
    "Ten times the records take at most",
    "Source: Ten times the entries to compare take at most",
    "Sink: Peak memory of a Python worker",
    "For 5 times the entries a worker's peak memory is at most",
    "trades: into a cache against Java by hand",
    "trades: against pyignite's put_all",
    "Peak memory of a Python worker",
    "put: with capture against without",
    "putAll of 1,000: the node's buffer held at most",
    "removeAll of 1,000, TRANSACTIONAL: shared, by a field, against one cluster",
    "Changes sent by each run: 5,000\n",
    "Scraped against no metrics",
    "A task's measurements alone",
    "Changes against the snapshot",
    "trades: verify against the copy",
    "trades: five transforms, to Kafka, against none",
    "wide: five transforms, to Ignite, against none",
    "By continuous queries against the backlog service",
    "backlog service: the puts took",
    "Poll interval 2,000 ms: 99 of 100 records within",
    "Poll interval 100 ms: 99 of 100 records within",
)
_ROWS = (
    "| trades: ours, pages alone",
    "| wide: by hand in Java, JSON",
    "| wide: read.jdbc",
    "| wide: ours, new entries only",
    "| 5,000 ",
    "| Avro, to Ignite",
    "| continued",
    "| put: captured",
    "| changes ",
    "| continuous queries ",
)


def report_of(*options: str) -> str:
    before = set(WORK.glob("bench-*"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(CHECKOUT), str(CHECKOUT / "spark_apps")])}
    command = [sys.executable, "-m", "benchmarks", "--quick", *options]
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert set(WORK.glob("bench-*")) == before
    return done.stdout


def test_some_parts_run_and_report() -> None:
    report = report_of("--parts", "copy", "sink")
    missing = [text for text in ("| wide: by hand in Java, JSON", "trades: into a cache against Java by hand") if text not in report]
    assert not missing, report
    assert report.count("\n## ") == 2


@pytest.mark.long("test_some_parts_run_and_report")
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_part_runs_and_reports() -> None:
    report = report_of()
    missing = [text for text in (*_FINDINGS, *_ROWS) if text not in report]
    assert not missing, report
    assert report.count("\n## ") == len(PARTS)
