"""The example Dag that copies caches to another Ignite cluster, each cluster with a password of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.integration.airflow.conftest import Secured
from tests.support.airflow_home import AirflowHome
from tests.support.processes import output_tail
from tests.support.servers import destroy
from tools.servers import IgniteCluster

DAG = "ignite_replicate"
TABLE = (
    "CREATE TABLE flights (number INT, day VARCHAR, origin VARCHAR, price DECIMAL(10, 2), PRIMARY KEY (number, day)) "
    'WITH "cache_name=flights,key_type=FlightKey,value_type=Flight,affinity_key=day"'
)
ROWS = "SELECT number, day, origin, price FROM flights ORDER BY number"


@pytest.fixture
def here(secured: Secured) -> Iterator[IgniteCluster]:
    """The cluster with the cache `flights`, which the Dag's whitelist names."""
    with secured.ignite.client() as client:
        list(client.sql(TABLE))
        list(client.sql("INSERT INTO flights VALUES (1, 'mon', 'ULM', 12.50), (2, 'tue', NULL, 3), (3, 'mon', 'OSL', NULL)"))
    yield secured.ignite
    destroy(secured.ignite, "flights")


def test_the_entries_of_one_cluster_are_in_the_other(
    secured: Secured, airflow: AirflowHome, here: IgniteCluster, ignite_cluster: Callable[..., IgniteCluster], unique: Callable[[str], str]
) -> None:
    there = ignite_cluster(authentication=True)
    host, port = there.address.split(":")
    other = {"conn_type": "ignite", "host": host, "port": int(port), "login": there.user, "password": there.password}
    home = AirflowHome(airflow.folder / unique("replicate"), airflow.dags, {**secured.connections(), "ignite_other": other}).migrate()
    output = home.run(DAG)
    assert home.states(DAG) == ["success", "success"], output_tail(output)
    sent, stored = home.results(DAG)
    assert (sent["connector"], sent["state"], sent["records"]) == ("replica-source", "COMPLETED", 3)
    assert (stored["connector"], stored["state"], stored["records"]) == ("replica-sink", "COMPLETED", 3)
    with here.client() as a, there.client() as b:
        rows = list(b.sql(ROWS))
        assert rows == list(a.sql(ROWS))
        assert len(rows) == 3
        assert list(b.sql("SELECT origin FROM flights WHERE number = 1 AND day = 'mon'")) == [["ULM"]], "found by its key"
