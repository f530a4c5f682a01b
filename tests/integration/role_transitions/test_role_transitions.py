"""Switchover, failover and failback of a pair on two clusters, judged by reading both clusters entry by entry."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.role_transitions.pairs import CACHE, LATE, Writer, call, entries, size, start, start_run, write_pair
from tests.support.waiting import DEADLINE_S, wait_until
from tools.servers import IgniteCluster, KafkaBroker


def test_a_switchover_that_is_killed_loses_nothing_and_the_pair_copies_back(
    kafka: KafkaBroker, ignite_cluster: Callable[..., IgniteCluster], tmp_path: Path
) -> None:
    cluster_a, cluster_b = ignite_cluster(partitions=16), ignite_cluster(partitions=16)
    files = write_pair(tmp_path, kafka, cluster_a, cluster_b)
    with cluster_a.client() as client:
        client.create_cache(CACHE).put_all({-number: f"first {number}" for number in range(1, 500)})
    run = start(tmp_path / "run.log", *files, "--master", "local[2]")
    try:
        writer = Writer(cluster_a)
        wait_until(lambda: size(cluster_b) > 500, "changes on the other cluster", poll_s=0.5)

        switchover = ["switchover", *files, "--output", str(tmp_path), "--quiet-for", "1s"]
        abandoned = start(tmp_path / "abandoned.log", *switchover)
        wait_until(lambda: "step 1 of 6" in abandoned.output(), "the wait for the writer's end", poll_s=0.2)
        abandoned.kill()
        result, _ = call("switchover", *files, "--abort")
        assert (result["transition"]["step"], result["transition"]["kind"]) == ("aborted", "switchover")

        # the second switchover is killed once it has retired the source
        killed = start(tmp_path / "killed.log", *switchover)
        wait_until(lambda: "step 1 of 6" in killed.output(), "the wait for the writer's end", poll_s=0.2)
        writer.stop()
        wait_until(lambda: "step 3 of 6" in killed.output(), "the end of the source", poll_s=0.2)
        killed.kill()
        result, stderr = call(*switchover)
        assert result["transition"]["step"] == "done", stderr
        assert run.wait() == 0, run.output_tail()
        expected = {**{-number: f"first {number}" for number in range(1, 500)}, **writer.confirmed}
        assert entries(cluster_a) == entries(cluster_b) == expected
    finally:
        run.stop()

    back = start(tmp_path / "back.log", str(tmp_path / "reverse-source.json"), str(tmp_path / "reverse-sink.json"), "--master", "local[2]")
    try:
        writer = Writer(cluster_b, first=writer.written // 5 * 5 + 5)
        wait_until(lambda: size(cluster_a) > len(expected) + 200, "changes on the first cluster", poll_s=0.5)
        expected |= writer.stop()
        wait_until(lambda: entries(cluster_a) == entries(cluster_b), "equal clusters", poll_s=1.0)
        os.kill(back.pid, signal.SIGINT)
        assert back.wait(DEADLINE_S) == 0, back.output_tail()
        assert entries(cluster_b) == expected
    finally:
        back.stop()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # clients of killed nodes
def test_a_lost_cluster_is_left_and_comes_back(kafka: KafkaBroker, ignite_cluster: Callable[..., IgniteCluster], tmp_path: Path) -> None:
    """Drivers and all nodes of A are killed under a writer; B lives on; A comes back, and what it never sent is sent.

    Then A takes over by force, and what B never sent is dropped.
    """
    cluster_a, cluster_b = ignite_cluster(partitions=16, persistence=True), ignite_cluster(partitions=16)
    files = write_pair(tmp_path, kafka, cluster_a, cluster_b)
    with cluster_a.client() as client:
        client.create_cache(CACHE).put_all({-number: f"first {number}" for number in range(1, 500)})
    run = start(tmp_path / "run.log", *files, "--master", "local[2]")
    try:
        writer = Writer(cluster_a)
        wait_until(lambda: size(cluster_b) > 700, "changes on the other cluster", poll_s=0.5)
    finally:
        run.stop()
    unsent = writer.written + 200
    wait_until(lambda: writer.written > unsent, "changes that are not sent", poll_s=0.1)
    cluster_a.kill(0)
    confirmed = writer.stop()

    result, stderr = call("failover", *files, "--wait", "10s")
    assert result["transition"]["step"] == "done", stderr
    distance = result["transition"]["figures"]["distance"]
    assert distance["source_reported_ms"] > 0
    assert distance["newest_record_ms"] > 0
    b_at_failover = entries(cluster_b)
    assert b_at_failover is not None
    written_by_a = {key: value for key, value in b_at_failover.items() if key >= 0}
    assert {key: confirmed.get(key, f"v{key}") for key in written_by_a} == written_by_a
    assert len(confirmed.keys() - b_at_failover.keys()) >= 100, "what A had and never sent"

    # B lives on: a key of A is removed, and new ones are put
    with cluster_b.client() as client:
        client.get_cache(CACHE).remove_key(-1)
        client.get_cache(CACHE).put_all({key: f"of b {key}" for key in range(-700, -600)})
    b_before_failback = entries(cluster_b)
    assert b_before_failback is not None

    cluster_a.start_node(0)
    with cluster_a.client() as client:
        client.get_cluster().set_state(1)
        # a cache without a topic, as if A had created it just before its end
        late_entries = {number: f"late {number}" for number in range(50)}
        client.create_cache(LATE).put_all(late_entries)
    returned = entries(cluster_a)
    assert returned is not None
    assert confirmed.items() <= returned.items(), "A lost nothing that it confirmed"
    report, _ = call("failback", *files, "--report")
    never_sent, cache = report["caches"] if report["caches"][0]["cache"] == LATE else report["caches"][::-1]
    assert (never_sent["cache"], never_sent["stored"]) == (LATE, 50)
    assert cache["stored"] == len(returned.keys() - b_at_failover.keys())
    assert cache["removed"] == len(b_at_failover.keys() - returned.keys())
    assert cache["changed"] == sum(b_at_failover[key] != returned[key] for key in b_at_failover.keys() & returned.keys()) == 0

    back = start(tmp_path / "failback.log", "failback", *files, "--send", "--output", str(tmp_path))
    runs = []
    try:
        wait_until(lambda: "step 5 of 7" in back.output() or not back.running(), "the wait for the reverse source")
        assert back.running(), back.output_tail()
        runs.append(start_run(tmp_path / "reverse-source.log", tmp_path / "reverse-source.json"))
        assert back.wait() == 0, back.output_tail()
        runs.append(start_run(tmp_path / "reverse-sink.log", tmp_path / "reverse-sink.json"))
        unsent_entries = {key: value for key, value in returned.items() if key not in b_at_failover}
        removed_keys = b_at_failover.keys() - returned.keys()
        expected = {key: value for key, value in {**b_before_failback, **unsent_entries}.items() if key not in removed_keys}
        assert entries(cluster_b) == expected
        assert entries(cluster_b, LATE) == late_entries
        wait_until(lambda: entries(cluster_a) == expected, "equal clusters", poll_s=1.0)
        assert entries(cluster_a, LATE) == late_entries

        # nobody may use B any more, although it answers: A takes over, and what B never sent is dropped
        pair = [str(tmp_path / "reverse-source.json"), str(tmp_path / "reverse-sink.json")]
        runs[0].stop()
        with cluster_b.client() as client:
            client.get_cache(CACHE).put_all({key: f"never sent {key}" for key in range(-900, -800)})
        assert call("failover", *pair, "--force")[0]["transition"]["step"] == "done"
        assert runs[1].wait() == 0, runs[1].output_tail()
        second_folder = tmp_path / "again"
        second_folder.mkdir()
        dropping = start(tmp_path / "drop.log", "failback", *pair, "--drop", "--output", str(second_folder))
        runs.append(dropping)
        wait_until(lambda: "step 3 of 5" in dropping.output() or not dropping.running(), "the wait for the first source")
        assert dropping.running(), dropping.output_tail()
        runs.append(start_run(tmp_path / "first-source.log", second_folder / "reverse-source.json"))
        assert dropping.wait() == 0, dropping.output_tail()
        assert entries(cluster_b) == entries(cluster_a) == expected
    finally:
        for process in (back, *runs):
            process.stop()
