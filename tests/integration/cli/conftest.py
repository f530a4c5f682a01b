"""The command `ignite-kafka` on a real node and a real broker."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.support.json_output import check_json_output
from tests.support.waiting import DEADLINE_S
from tools.servers import IgniteCluster, KafkaBroker

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def command(ignite: IgniteCluster, kafka: KafkaBroker) -> Command:
    """Runs `ignite-kafka` in a process of its own; `ignite` and `kafka` may name other addresses. JSON must have its form."""

    def call(*arguments: str, ignite: str = ",".join(ignite.addresses), kafka: str = kafka.bootstrap) -> subprocess.CompletedProcess[str]:
        places = ["--kafka", kafka, *(["--ignite", ignite] if arguments[0] not in ("status", "stop", "offsets") else [])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "SPARK_LOCAL_IP": "127.0.0.1"}
        line = [sys.executable, "-m", "ignite_kafka.cli.main", "-q", *arguments, *places]
        done = subprocess.run(line, capture_output=True, text=True, env=environment, timeout=DEADLINE_S)
        if "--json" in arguments and done.stdout:
            check_json_output([*arguments, *places], done.stdout)
        return done

    return call
