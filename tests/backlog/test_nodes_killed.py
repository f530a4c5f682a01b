"""The backlog service under killed nodes: the changes that a reader applies give the content of the cache.

The short form, for every `make test`, kills fewer nodes, and each test has one atomicity mode. `make soak` runs the long form.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ignite_kafka.ignite.backlog_units import MISSED
from tests.backlog.workload import LONG_FORM, PARTITIONS, SETTINGS, Reader, Writers
from tests.integration.ignite.nodes import cache_xml
from tests.support import QUICK_JVM
from tests.support.waiting import wait_until
from tools.servers import IgniteCluster, Jars

PHASE_S = 4.0 if LONG_FORM else 1.5
KILLED = (2, 1) if LONG_FORM else (2,)
MODES = ("ATOMIC", "TRANSACTIONAL")


@contextmanager
def cluster(mode: str, nodes: int, jars: Jars, directory: Path, **options: Any) -> Iterator[IgniteCluster]:
    """Nodes with the cache `trades`, which has one backup."""
    cache = cache_xml("trades", PARTITIONS, backups=1, atomicityMode=mode, writeSynchronizationMode="FULL_SYNC")
    properties = (("cacheConfiguration", f"<list>{cache}</list>"), ("failureDetectionTimeout", "8000"))
    options |= {"data_region_mib": 128, "backlog_mib": 64, "java_options": QUICK_JVM}
    logging.getLogger("pyignite").setLevel(logging.CRITICAL)
    with IgniteCluster(directory, jars=jars, nodes=nodes, properties=properties, **options) as started:
        yield started


@pytest.fixture(autouse=True)
def sockets_collected() -> Iterator[None]:
    """Collect the sockets that pyignite leaves open: a test may ignore their warnings, the end of the session does not."""
    yield
    for _ in range(5):  # a finalizer may leave more garbage
        gc.collect()


# pyignite leaves the socket of an unreachable node open
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES if LONG_FORM else MODES[:1])
def test_nothing_is_lost_over_killed_nodes(mode: str, jars: Jars, tmp_path: Path) -> None:
    with cluster(mode, 3, jars, tmp_path) as nodes:
        reader = Reader(nodes)
        assert reader.call(lambda service: service.start("c", SETTINGS, ["trades"]))["registered"] == 2
        writers = Writers(nodes)
        try:
            for killed in KILLED:
                reader.follow(PHASE_S)
                nodes.kill(killed)
                reader.follow(2 * PHASE_S)
                nodes.start_node(killed)
            reader.follow(PHASE_S)
            wait_until(lambda: writers.puts > 100, "a hundred puts")
        finally:
            writers.stop()
        reader.drain()
        held = reader.held()
        reader.close()
        print(f"{writers.puts} puts, {len(reader.seen)} changes, {reader.repeated} repeated, {reader.late} late")
        assert reader.state == held
        assert reader.steps_back == 0
        assert not reader.marks


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES if LONG_FORM else MODES[1:])
def test_nothing_is_lost_when_a_persistent_cluster_is_killed_as_a_whole(mode: str, jars: Jars, tmp_path: Path) -> None:
    """Buffered changes are lost, and their units marked; after these are sent again, nothing is missing.

    Values may step back: a put in flight may be captured and read, but kept by no node; its unit is marked.
    """
    with cluster(mode, 2, jars, tmp_path, persistence=True) as nodes:
        reader = Reader(nodes)
        before = reader.call(lambda service: service.start("c", SETTINGS, ["trades"]))
        writers = Writers(nodes)
        try:
            reader.follow(PHASE_S)
            nodes.kill_and_start_nodes()
            reader.await_capture()
            reader.follow(PHASE_S)
        finally:
            writers.stop()
        reader.drain()
        after = reader.call(lambda service: service.status("c"))
        assert (after["captureId"], after["incarnation.trades"]) == (before["captureId"], before["incarnation.trades"])
        held, marks = reader.held(), dict(reader.marks)
        differing = [partition for partition in range(PARTITIONS) if reader.state[partition] != held[partition]]
        print(f"{writers.puts} puts, {len(reader.seen)} changes, {reader.repeated} repeated, marks {marks}, differing {differing}")
        assert set(differing) <= set(marks)
        assert set(marks.values()) <= {MISSED}
        reader.send_again()
        reader.close()
        assert reader.state == held
        assert not reader.marks
