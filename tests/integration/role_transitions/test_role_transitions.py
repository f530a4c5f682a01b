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
    here, there = ignite_cluster(partitions=16), ignite_cluster(partitions=16)
    files = write_pair(tmp_path, kafka, here, there)
    with here.client() as client:
        client.create_cache(CACHE).put_all({-number: f"first {number}" for number in range(1, 500)})
    run = start(tmp_path / "run.log", *files, "--master", "local[2]")
    try:
        writer = Writer(here)
        wait_until(lambda: size(there) > 500, "changes on the other cluster", poll_s=0.5)

        words = ["switchover", *files, "--output", str(tmp_path), "--quiet-for", "1s"]
        abandoned = start(tmp_path / "abandoned.log", *words)
        wait_until(lambda: "step 1 of 6" in abandoned.output(), "the wait for the writer's end", poll_s=0.2)
        abandoned.kill()
        result, _ = call("switchover", *files, "--abort")
        assert (result["transition"]["step"], result["transition"]["kind"]) == ("aborted", "switchover")

        # the next one is killed when it has retired the source
        killed = start(tmp_path / "killed.log", *words)
        wait_until(lambda: "step 1 of 6" in killed.output(), "the wait for the writer's end", poll_s=0.2)
        writer.stop()
        wait_until(lambda: "step 3 of 6" in killed.output(), "the end of the source", poll_s=0.2)
        killed.kill()
        result, shown = call(*words)
        assert result["transition"]["step"] == "done", shown
        assert run.wait() == 0, run.output_tail()
        expected = {**{-number: f"first {number}" for number in range(1, 500)}, **writer.confirmed}
        assert entries(here) == entries(there) == expected
    finally:
        run.stop()

    back = start(tmp_path / "back.log", str(tmp_path / "reverse-source.json"), str(tmp_path / "reverse-sink.json"), "--master", "local[2]")
    try:
        writer = Writer(there, first=writer.written // 5 * 5 + 5)
        wait_until(lambda: size(here) > len(expected) + 200, "changes on the first cluster", poll_s=0.5)
        expected |= writer.stop()
        wait_until(lambda: entries(here) == entries(there), "the first cluster to follow", poll_s=1.0)
        os.kill(back.pid, signal.SIGINT)
        assert back.wait(DEADLINE_S) == 0, back.output_tail()
        assert entries(there) == expected
    finally:
        back.stop()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # clients of killed nodes
def test_a_lost_cluster_is_left_and_comes_back(kafka: KafkaBroker, ignite_cluster: Callable[..., IgniteCluster], tmp_path: Path) -> None:
    """Drivers and all nodes of A are killed under a writer; B lives on; A comes back, and what it never sent is sent.

    Then A leads again by force, and what B never sent is dropped.
    """
    here, there = ignite_cluster(partitions=16, persistence=True), ignite_cluster(partitions=16)
    files = write_pair(tmp_path, kafka, here, there)
    with here.client() as client:
        client.create_cache(CACHE).put_all({-number: f"first {number}" for number in range(1, 500)})
    run = start(tmp_path / "run.log", *files, "--master", "local[2]")
    try:
        writer = Writer(here)
        wait_until(lambda: size(there) > 700, "changes on the other cluster", poll_s=0.5)
    finally:
        run.stop()
    unsent = writer.written + 200
    wait_until(lambda: writer.written > unsent, "changes that are not sent", poll_s=0.1)
    here.kill(0)
    confirmed = writer.stop()

    result, shown = call("failover", *files, "--wait", "10s")
    assert result["transition"]["step"] == "done", shown
    distance = result["transition"]["figures"]["distance"]
    assert distance["source_reported_ms"] > 0
    assert distance["newest_record_ms"] > 0
    left = entries(there)
    assert left is not None
    assert {key: confirmed.get(key, f"v{key}") for key in left if key >= 0} == {key: left[key] for key in left if key >= 0}
    assert len(confirmed.keys() - left.keys()) >= 100, "what A had and never sent"

    # B lives on: a key of A is removed, and new ones are put
    with there.client() as client:
        client.get_cache(CACHE).remove_key(-1)
        client.get_cache(CACHE).put_all({key: f"of b {key}" for key in range(-700, -600)})
    living = entries(there)
    assert living is not None

    here.start_node(0)
    with here.client() as client:
        client.get_cluster().set_state(1)
        # a cache without a topic, as if A had created it just before its end
        late = {number: f"late {number}" for number in range(50)}
        client.create_cache(LATE).put_all(late)
    came_back = entries(here)
    assert came_back is not None
    assert confirmed.items() <= came_back.items(), "A lost nothing that it confirmed"
    report, _ = call("failback", *files, "--report")
    never_sent, cache = report["caches"] if report["caches"][0]["cache"] == LATE else report["caches"][::-1]
    assert (never_sent["cache"], never_sent["stored"]) == (LATE, 50)
    assert cache["stored"] == len(came_back.keys() - left.keys())
    assert cache["removed"] == len(left.keys() - came_back.keys())
    assert cache["changed"] == sum(left[key] != came_back[key] for key in left.keys() & came_back.keys()) == 0

    back = start(tmp_path / "failback.log", "failback", *files, "--send", "--output", str(tmp_path))
    runs = []
    try:
        wait_until(lambda: "step 5 of 7" in back.output() or not back.running(), "the wait for the reverse source")
        assert back.running(), back.output_tail()
        runs.append(start_run(tmp_path / "reverse-source.log", tmp_path / "reverse-source.json"))
        assert back.wait() == 0, back.output_tail()
        runs.append(start_run(tmp_path / "reverse-sink.log", tmp_path / "reverse-sink.json"))
        sent = {key: value for key, value in came_back.items() if key not in left}
        gone = left.keys() - came_back.keys()
        expected = {key: value for key, value in {**living, **sent}.items() if key not in gone}
        assert entries(there) == expected
        assert entries(there, LATE) == late
        wait_until(lambda: entries(here) == expected, "the returned cluster to follow", poll_s=1.0)
        assert entries(here, LATE) == late

        # nobody may use B any more, although it answers: A leads again, and what B never sent is dropped
        pair = [str(tmp_path / "reverse-source.json"), str(tmp_path / "reverse-sink.json")]
        runs[0].stop()
        with there.client() as client:
            client.get_cache(CACHE).put_all({key: f"never sent {key}" for key in range(-900, -800)})
        assert call("failover", *pair, "--force")[0]["transition"]["step"] == "done"
        assert runs[1].wait() == 0, runs[1].output_tail()
        again = tmp_path / "again"
        again.mkdir()
        drops = start(tmp_path / "drop.log", "failback", *pair, "--drop", "--output", str(again))
        runs.append(drops)
        wait_until(lambda: "step 3 of 5" in drops.output() or not drops.running(), "the wait for the first source")
        assert drops.running(), drops.output_tail()
        runs.append(start_run(tmp_path / "first-source.log", again / "reverse-source.json"))
        assert drops.wait() == 0, drops.output_tail()
        assert entries(there) == entries(here) == expected
    finally:
        for one in (back, *runs):
            one.stop()
