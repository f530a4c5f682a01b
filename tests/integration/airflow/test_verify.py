"""A task of the Dag compares its copy: operator, spark-submit, app, and both clusters with their passwords."""

from __future__ import annotations

from collections.abc import Callable

from tests.integration.airflow.conftest import CACHES, ENTRIES, Secured
from tests.support.airflow_home import AirflowHome
from tests.support.processes import output_tail

DAG = "copy_and_verify"


def test_a_task_compares_what_the_task_before_has_copied(secured: Secured, airflow: AirflowHome, unique: Callable[[str], str]) -> None:
    output = airflow.run(DAG, {"name": unique("verified")})
    assert airflow.states(DAG) == ["success", "success"], output_tail(output)
    (result,) = (one for one in airflow.results(DAG) if "equal" in one)
    assert result["equal"] is True
    assert {one["cache"]: (one["entries"], one["records"]) for one in result["caches"]} == dict.fromkeys(CACHES, (ENTRIES, ENTRIES))
    assert not any(password in output for password in secured.passwords)
    assert list(airflow.private.glob("ignite-kafka-*")) == []
