"""The backlog service's own tests: JUnit with clusters in one JVM."""

from __future__ import annotations

import subprocess

import pytest

from tools.servers.jars import CHECKOUT


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_junit() -> None:
    command = ["mvn", "--batch-mode", "--quiet", "-Dstyle.color=never", "--file", "backlog-service/pom.xml", "test"]
    run = subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    summary = "\n".join(line for line in run.stdout.splitlines() if line.startswith(("[ERROR]", "Tests run")))
    assert run.returncode == 0, f"{run.stdout[-3000:]}\n{summary[-3000:]}\nreports: {CHECKOUT}/backlog-service/target/surefire-reports"
