"""What Spark logs beside the library's own lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from ignite_kafka.runtime import logs
from ignite_kafka.runtime.logs import spark_environment

OURS = Path(logs.__file__).with_name("log4j2.properties")


@pytest.mark.parametrize("given", ["", "-Djava.security.krb5.conf=/etc/krb5.conf"])
def test_a_driver_beside_the_task_logs_warnings_alone(given: str) -> None:
    options = spark_environment({"SPARK_SUBMIT_OPTS": given})["SPARK_SUBMIT_OPTS"]
    assert options == f"-Dlog4j2.configurationFile=file://{OURS} {given}".strip()
    assert "rootLogger.level = warn" in OURS.read_text().splitlines()


@pytest.mark.parametrize("variable", ["SPARK_CONF_DIR", "SPARK_HOME"])
def test_the_user_s_own_configuration_of_the_log_counts(variable: str, tmp_path: Path) -> None:
    folder = tmp_path if variable == "SPARK_CONF_DIR" else tmp_path / "conf"
    folder.mkdir(exist_ok=True)
    assert spark_environment({variable: str(tmp_path)})
    (folder / "log4j2.properties").touch()
    assert not spark_environment({variable: str(tmp_path)})
    assert not spark_environment({"SPARK_SUBMIT_OPTS": "-Dlog4j2.configurationFile=/mine"})
