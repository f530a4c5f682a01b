"""The JUnit tests of the backlog service, on Ignite nodes in one JVM. The long form repeats races more often (`TestCluster.LONG_FORM`)."""

from __future__ import annotations

import subprocess

import pytest

from tools.servers.jars import CHECKOUT

POM = "backlog-service/pom.xml"


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_junit() -> None:
    command = ["mvn", "--batch-mode", "--quiet", "--strict-checksums", "-Dstyle.color=never", "--file", POM, "test"]
    run = subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    errors = "\n".join(line for line in run.stdout.splitlines() if line.startswith(("[ERROR]", "Tests run")))
    assert run.returncode == 0, f"{run.stdout[-3000:]}\n{errors[-3000:]}\nreports: {CHECKOUT}/backlog-service/target/surefire-reports"
