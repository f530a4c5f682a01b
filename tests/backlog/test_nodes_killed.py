"""The backlog service over killed nodes: what a reader folds is what the cache holds, and no key steps back."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ignite_kafka.ignite.backlog_units import MISSED
from tests.backlog.workload import PARTITIONS, SETTINGS, Reader, Writers
from tests.integration.ignite.nodes import cache_xml
from tools.servers import IgniteCluster, Jars

SECONDS_A_PHASE = 4.0


@contextmanager
def cluster(mode: str, nodes: int, jars: Jars, directory: Path, **options: Any) -> Iterator[IgniteCluster]:
    """Nodes with the cache `trades`, one backup."""
    cache = cache_xml("trades", PARTITIONS, backups=1, atomicityMode=mode, writeSynchronizationMode="FULL_SYNC")
    properties = (("cacheConfiguration", f"<list>{cache}</list>"), ("failureDetectionTimeout", "8000"))
    options |= {"data_region_mib": 128, "backlog_mib": 64}
    logging.getLogger("pyignite").setLevel(logging.CRITICAL)
    with IgniteCluster(directory, jars=jars, nodes=nodes, properties=properties, **options) as started:
        yield started


# pyignite leaves the socket open of a node that it cannot reach
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.slow
@pytest.mark.parametrize("mode", ["ATOMIC", "TRANSACTIONAL"])
def test_nothing_is_lost_over_killed_nodes(mode: str, jars: Jars, tmp_path: Path) -> None:
    with cluster(mode, 3, jars, tmp_path) as nodes:
        reader = Reader(nodes)
        assert reader.ask(lambda service: service.start("c", SETTINGS, ["trades"]))["registered"] == 2
        writers = Writers(nodes)
        try:
            for killed in (2, 1):
                reader.follow(SECONDS_A_PHASE)
                nodes.kill(killed)
                reader.follow(2 * SECONDS_A_PHASE)
                nodes.start_node(killed)
            reader.follow(SECONDS_A_PHASE)
        finally:
            writers.stop()
        reader.drain()
        held = reader.held()
        reader.close()
        print(f"{writers.puts} puts, {len(reader.taken)} changes, {reader.repeated} put back, {reader.steps_back} steps back")
        assert writers.puts > 100
        assert reader.fold == held
        assert reader.steps_back == 0
        assert not reader.marks


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.slow
@pytest.mark.parametrize("mode", ["ATOMIC", "TRANSACTIONAL"])
def test_nothing_is_lost_when_a_persistent_cluster_is_killed_as_a_whole(mode: str, jars: Jars, tmp_path: Path) -> None:
    """What stood in the nodes' buffers is gone: its units are marked, and with these sent again nothing is missing.

    Steps back do not count: a put in flight may have been captured and read, and then be kept by no node; its unit is marked.
    """
    with cluster(mode, 2, jars, tmp_path, persistence=True) as nodes:
        reader = Reader(nodes)
        before = reader.ask(lambda service: service.start("c", SETTINGS, ["trades"]))
        writers = Writers(nodes)
        try:
            reader.follow(SECONDS_A_PHASE)
            nodes.kill_and_start_nodes()
            reader.await_capture()
            reader.follow(SECONDS_A_PHASE)
        finally:
            writers.stop()
        reader.drain()
        after = reader.ask(lambda service: service.status("c"))
        assert (after["captureId"], after["incarnation.trades"]) == (before["captureId"], before["incarnation.trades"])
        held, marks = reader.held(), dict(reader.marks)
        differing = [partition for partition in range(PARTITIONS) if reader.fold[partition] != held[partition]]
        print(f"{writers.puts} puts, {len(reader.taken)} changes, {reader.repeated} put back, marks {marks}, differing {differing}")
        assert set(differing) <= set(marks)
        assert set(marks.values()) <= {MISSED}
        reader.send_again()
        reader.close()
        assert reader.fold == held
        assert not reader.marks
