"""The example Dags that copy caches to another Ignite cluster and turn such a pair, each cluster with a password of its own."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.airflow.conftest import Secured
from tests.support.airflow_home import AirflowHome
from tests.support.processes import output_tail
from tests.support.servers import destroy
from tools.airflow_home import BIN
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


def write_pair(folder: Path, secured: Secured, source: str, sink: IgniteCluster) -> dict[str, str]:
    """Write the settings and secrets of the Dag's pair as a stream; return the environment of the Dags of role transitions.

    :param source: address of the source's cluster.
    """
    common = "run_mode=continuous\ntopic_prefix=replica-\nkey_converter=ignite-binary\nvalue_converter=ignite-binary\n"
    common += f"bootstrap_servers={secured.kafka.bootstrap}\n"
    folder.mkdir()
    (folder / "source.properties").write_text(
        f"{common}name=replica-source\nignite_addresses={source}\ncache_whitelist=flights\nprocess_removals=true\nfailover_policy=BACKLOG\n"
    )
    (folder / "sink.properties").write_text(
        f"{common}name=replica-sink\nignite_addresses={sink.address}\ntopics_regex=replica-.*\nprocess_updates=true\n"
    )
    options = "--allow-insecure-connections"
    kafka = {name: value for name, value in secured.kafka.client_config.items() if name != "bootstrap.servers"}
    for option, cluster in {"secrets": secured.ignite, "sink-secrets": sink}.items():
        file = folder / f"{option}.json"
        file.touch(0o600)
        file.write_text(json.dumps({"ignite": {"username": cluster.user, "password": cluster.password}, "kafka": kafka}))
        options += f" --{option} {file}"
    return {"IGNITE_KAFKA_PAIR": str(folder), "IGNITE_KAFKA_PAIR_OPTIONS": options, "PATH": f"{BIN}:{os.environ['PATH']}"}


def dry_runs(home: AirflowHome, environments: dict[str, dict[str, str]]) -> dict[str, str]:
    """Run some Dags side by side as their forms begin, and return their logs."""
    runs = {dag: home.start(dag, environment=environment) for dag, environment in environments.items()}
    try:
        for dag, run in runs.items():
            run.wait()
            assert home.states(dag) == ["success"], run.output_tail()
    finally:
        for run in runs.values():
            run.stop()
    return {dag: run.output() for dag, run in runs.items()}


def test_the_entries_of_one_cluster_are_in_the_other(
    secured: Secured, airflow: AirflowHome, here: IgniteCluster, ignite_cluster: Callable[..., IgniteCluster], unique: Callable[[str], str]
) -> None:
    """The pair could be switched over, and, for an address where nobody answers, fail over: dry runs of these Dags."""
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
    with socket.socket() as dead:
        dead.bind(("127.0.0.1", 0))  # no server listens, and none can take the port
        lost = f"127.0.0.1:{dead.getsockname()[1]}"
        logs = dry_runs(
            home,
            {
                "ignite_switchover": write_pair(home.folder / "pair", secured, here.address, there),
                "ignite_failover": write_pair(home.folder / "lost-pair", secured, lost, there),
            },
        )
    assert all('"dry_run": true' in log for log in logs.values())
    for step in ("wait until the lag of replica-source", "retire replica-source", "compare all keys", "let the reverse pair begin"):
        assert f"would do: {step}" in logs["ignite_switchover"]
    assert "would do: retire replica-source, fence its run" in logs["ignite_failover"]
    assert '"unstored": 0' in logs["ignite_failover"]
