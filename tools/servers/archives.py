"""Class data archives of the JVMs that tests start again and again: Spark's drivers and executors, Ignite nodes, Kafka brokers.

``python -m tools.servers.archives`` makes them once for a checkout, in ``.work/archives``. A JVM maps its classes from
the archive instead of reading and verifying them: a Spark driver starts with 3 s of CPU instead of 11 s. It compares
the archive with its jars first, and ignores an archive that does not match.
https://docs.oracle.com/en/java/javase/17/vm/class-data-sharing.html
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from confluent_kafka import KafkaException

from ignite_kafka.kafka.bounded_calls import CallStuck, bounded

from .jars import WORK, Jars
from .zip_bytecode import add_bytecode

FOLDER = WORK / "archives"
_TIMEOUT_S = 900.0
_CALL_S = 120.0  # of a broker on a busy machine
_SPARK_PROGRAM = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
spark.range(0, 4, 1, 4).mapInArrow(lambda batches: batches, "id long").collect()
spark.stop()
"""


def archive_options(name: str, jars: Path | None = None) -> tuple[str, ...]:
    """Return the JVM options that load an archive; none where it has not been made.

    :param name: ``spark``, ``ignite`` or ``kafka``.
    :param jars: folder of the jars; there are archives of the versions of pom.xml only.
    """
    if jars is not None and jars != _jars(name):
        return ()
    archive = _file(name)
    # a JVM whose class path differs logs this to standard output, which is the program's
    return (f"-XX:SharedArchiveFile={archive}", "-Xlog:disable") if archive.exists() else ()


@cache
def _file(name: str) -> Path:
    """File of an archive; its name changes with Java and with the jars."""
    java = os.path.realpath(shutil.which("java") or "java")
    jars = sorted((path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in _jars(name).glob("*.jar"))
    return FOLDER / f"{name}-{hashlib.sha256(repr((java, jars)).encode()).hexdigest()[:12]}.jsa"


def _jars(name: str) -> Path:
    if name == "spark":
        import pyspark

        return Path(pyspark.__file__).parent / "jars"
    return WORK / "jars" / name


def make(name: str) -> None:
    """Make an archive unless it exists: run a program of its kind and have its JVM write the archive at its end.

    :raises RuntimeError: the program failed, or this JVM writes no archives.
    """
    archive = _file(name)
    if archive.exists():
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    made = archive.with_suffix(f".{os.getpid()}")
    options = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", f"-XX:ArchiveClassesAtExit={made}", "-Xlog:disable")
    with TemporaryDirectory(dir=FOLDER) as folder:
        _PROGRAMS[name](Path(folder), options)
    if not made.exists():
        raise RuntimeError(f"this Java wrote no class data archive for {name}: {made} is missing")
    made.rename(archive)


def _run_spark(folder: Path, options: Sequence[str]) -> None:
    program = folder / "program.py"
    program.write_text(_SPARK_PROGRAM)
    command: list[str | Path] = [
        _jars("spark").parent / "bin" / "spark-submit",
        "--master",
        "local[2]",
        "--driver-memory",
        "512m",
    ]
    command += [
        "--driver-java-options",
        " ".join(options),
        "--conf",
        "spark.ui.enabled=false",
        "--conf",
        "spark.driver.host=127.0.0.1",
    ]
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    _finish([*command, program], {**os.environ, **python}, folder)


def _finish(command: Sequence[str | Path], environment: Mapping[str, str], folder: Path) -> None:
    done = subprocess.run(
        [str(word) for word in command],
        env=dict(environment),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}:\n{done.stdout[-1000:]}{done.stderr[-2000:]}")


def _run_ignite(folder: Path, options: Sequence[str]) -> None:
    from .ignite import IgniteCluster

    with IgniteCluster(folder, jars=Jars.of_checkout(), java_options=tuple(options)) as cluster:
        with cluster.client() as client:
            client.sql('CREATE TABLE city (id INT PRIMARY KEY, name VARCHAR) WITH "cache_name=city"')
            client.sql("INSERT INTO city VALUES (1, 'Delft')")
            assert list(client.sql("SELECT name FROM city")) == [["Delft"]]
            cache = client.get_or_create_cache("numbers")
            cache.put_all({number: number for number in range(1_000)})
            with cache.scan() as rows:
                assert len(list(rows)) == 1_000
        cluster.node(0).stop()  # in order: a killed JVM writes no archive


def _run_kafka(folder: Path, options: Sequence[str]) -> None:
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    from .kafka import KafkaBroker

    with KafkaBroker(folder, jars=Jars.of_checkout(), java_options=tuple(options)) as broker:
        quiet: dict[str, str | int | float | bool] = {**broker.client_config, "log_level": 0}
        admin = AdminClient(quiet)
        admin.create_topics([NewTopic("t", 1)])["t"].result(_TIMEOUT_S)
        producer = Producer({**quiet, "transactional.id": "t"})
        _bounded(lambda: producer.init_transactions(_CALL_S))
        producer.begin_transaction()
        producer.produce("t", b"value", b"key")
        _bounded(lambda: producer.commit_transaction(_CALL_S))


def _bounded(call: Callable[[], None]) -> None:
    """Make a call of librdkafka, which may not keep its own time-out.

    :raises RuntimeError: it failed, or did not return.
    """
    try:
        bounded(call, _CALL_S)
    except (CallStuck, KafkaException) as error:
        raise RuntimeError(f"the broker was not used: {error}") from error


_PROGRAMS = {"spark": _run_spark, "ignite": _run_ignite, "kafka": _run_kafka}


def main() -> None:
    """Make all archives, two at a time, and remove those of other jars; add bytecode to PySpark's zips."""
    for zipped in (_jars("spark").parent / "python" / "lib").glob("*.zip"):
        add_bytecode(zipped)
    with ThreadPoolExecutor(2) as pool:
        for name, made in [(name, pool.submit(make, name)) for name in _PROGRAMS]:
            try:
                made.result()
            except RuntimeError as error:
                print(f"{name} starts without a class data archive, more slowly: {error}", file=sys.stderr)
    kept = {_file(name) for name in _PROGRAMS}
    for path in FOLDER.glob("*.jsa"):
        if path not in kept:
            path.unlink()


if __name__ == "__main__":
    main()
