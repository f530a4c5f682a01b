"""The command `doctor` without clusters: its text, and versions."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from ignite_kafka.admin.findings import FAILED, OK, Diagnosis
from ignite_kafka.cli.doctor import text_of
from ignite_kafka.cli.main import main
from ignite_kafka.errors import KafkaUnavailable


def test_findings_as_text() -> None:
    found = Diagnosis()
    found.add("Here", OK, "Python 3.11")
    with found.failures_of("Kafka login"):
        log_in()
    assert found.failed
    assert text_of(found).splitlines() == [
        "ok      Here         Python 3.11",
        "FAILED  Kafka login  no broker answered [bootstrap_servers k:9092]",
        "                     → Check the brokers.",
        "",
        "1 of 2 checks failed",
    ]
    assert found.to_dict() == {
        "works": False,
        "findings": [
            {"subject": "Here", "state": OK, "text": "Python 3.11", "remedy": ""},
            {
                "subject": "Kafka login",
                "state": FAILED,
                "text": "no broker answered [bootstrap_servers k:9092]",
                "remedy": "Check the brokers.",
            },
        ],
    }


def log_in() -> None:
    raise KafkaUnavailable("no broker answered", "Check the brokers.", bootstrap_servers="k:9092")


def test_versions_are_those_of_the_installed_packages(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    line = capsys.readouterr().out
    assert line.startswith(f"ignite-kafka {version('airflow-provider-ignite-kafka')}, Python 3.")
    assert f"pyspark {version('pyspark')}" in line
