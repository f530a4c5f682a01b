"""Which Spark master `ignite-kafka run` takes; each case starts Spark in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import DEADLINE_S

_SHOW = (
    "import sys; from ignite_kafka.cli.local_run import _create_session as create; "
    "print('master', create('c', sys.argv[1] or None).sparkContext.master)"
)


@pytest.mark.parametrize(
    ("argument", "configured", "taken"),
    [("", "", "local[*,4]"), ("", "local[1]", "local[1]"), ("local[3]", "local[1]", "local[3]")],
)
def test_the_argument_counts_then_spark_s_own_configuration(tmp_path: Path, argument: str, configured: str, taken: str) -> None:
    (tmp_path / "spark-defaults.conf").write_text(f"spark.ui.enabled false\n{f'spark.master {configured}' if configured else ''}\n")
    spark = {"SPARK_CONF_DIR": str(tmp_path), "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": os.pathsep.join(sys.path)}
    environment = {name: value for name, value in os.environ.items() if name != "MASTER"} | spark
    command = [sys.executable, "-c", _SHOW, argument]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert f"master {taken}" in ran.stdout.splitlines(), ran.stderr[-2000:]
    assert "log4j profile" not in ran.stderr, "Spark's log is configured by the library"
    assert "INFO" not in ran.stderr
