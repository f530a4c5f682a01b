"""An exercise of docs/disaster.md: a cluster of three nodes is lost under writers, comes back, and leads again.

``pytest -s tests/soak/test_disaster.py`` prints its figures.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyignite.datatypes.prop_codes import PROP_BACKUPS_NUMBER, PROP_NAME

from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.settings.topic_names import types_topic
from tests.integration.role_transitions.pairs import (
    CACHE,
    COMMAND,
    ENVIRONMENT,
    Entries,
    Writer,
    call,
    entries,
    size,
    start_run,
    write_pair,
)
from tests.support.processes import App, kill_process
from tests.support.waiting import DEADLINE_S, wait_until
from tools.servers import IgniteCluster, KafkaBroker

LOADED = 50_000  # entries before the writers begin
WRITERS = 3
APART = 10_000_000  # between the first keys of two writers
MORE = 2_000  # entries that a writer goes on to put before it is stopped
_STEP = re.compile(r"ignite-kafka: step \d+ of \d+: (.*)")


def timed(*words: str, on_step: Mapping[str, Callable[[], object]] | None = None) -> tuple[Any, float]:
    """Run ``ignite-kafka replicate`` to its end, and print the seconds of each step; return result and seconds of the command.

    :param on_step: functions that are called when the step whose text begins so begins.
    """
    began = time.monotonic()
    line = [*COMMAND, *words, "--master", "local[2]", "--json"]
    environment = {**os.environ, **ENVIRONMENT}
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        watchdog = threading.Timer(DEADLINE_S, process.kill)
        watchdog.start()
        steps: list[tuple[str, float]] = []
        shown = []
        called = set()
        for text in process.stderr:
            shown.append(text)
            if (found := _STEP.match(text)) is not None:
                steps.append((found[1], time.monotonic()))
                for beginning, function in (on_step or {}).items():
                    if found[1].startswith(beginning):
                        function()
                        called.add(beginning)
        result = process.stdout.read()
        code = process.wait()
        watchdog.cancel()
    ended = time.monotonic()
    assert code == 0, "".join(shown)[-8000:]
    print(f"{words[0]}: {ended - began:.1f} s", flush=True)
    assert called == set(on_step or {})
    ends = [*(at for _, at in steps[1:]), ended]
    for (step, at), end in zip(steps, ends, strict=False):
        print(f"  {step}: {end - at:.1f} s", flush=True)
    return json.loads(result), ended - began


class Runs:
    """The running connectors of the exercise, by settings file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._apps: dict[Path, App] = {}
        self._count = 0

    def start(self, settings: Path) -> None:
        self._count += 1
        self._apps[settings] = start_run(self._folder / f"run-{self._count}.log", settings)

    def all_run(self) -> bool:
        """True; an assertion fails with the output of a run that has ended."""
        for app in self._apps.values():
            assert app.running(), app.output_tail()
        return True

    def kill(self, settings: Path) -> None:
        """Kill a run with all its processes (SIGKILL)."""
        app = self._apps.pop(settings)
        for process in app.family():
            kill_process(process)
        app.stop()

    def assert_ended(self, settings: Path) -> None:
        app = self._apps.pop(settings)
        assert app.wait() == 0, app.output_tail()

    def stop(self) -> None:
        for app in self._apps.values():
            app.stop()


def merged(writers: list[Writer]) -> Entries:
    """What stopped writers have confirmed and not removed."""
    return {key: value for writer in writers for key, value in writer.stop().items()}


def minute_reported(files: list[str]) -> bool:
    """Whether the source has recorded the lag of a minute, which a failover reports."""
    result, _ = call("failover", *files, "--force", "--dry-run")
    return result["transition"]["figures"]["distance"]["unsent"] is not None


def seconds_until(probe: Callable[[], object], what: str) -> float:
    """Wait for a condition; return and print how long it took."""
    began = time.monotonic()
    wait_until(lambda: bool(probe()), what, poll_s=0.2)
    seconds = time.monotonic() - began
    print(f"{what}: {seconds:.1f} s later", flush=True)
    return seconds


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # clients of killed nodes
def test_a_lost_cluster_comes_back_and_leads_again(
    kafka: KafkaBroker, ignite_cluster: Callable[..., IgniteCluster], tmp_path: Path
) -> None:
    here, there = ignite_cluster(3, partitions=64, persistence=True), ignite_cluster(partitions=64)
    files = write_pair(tmp_path, kafka, here, there)
    source, sink = map(Path, files)
    back_source, back_sink = (tmp_path / name for name in ("reverse-source.json", "reverse-sink.json"))
    with here.client() as client:
        cache = client.create_cache({PROP_NAME: CACHE, PROP_BACKUPS_NUMBER: 1})
        for first in range(1, LOADED, 10_000):
            cache.put_all({-key: f"first {key}" for key in range(first, first + 10_000)})
    runs = Runs(tmp_path)
    try:
        runs.start(source)
        topics = Topics(KafkaClients(kafka.client_config))
        wait_until(
            lambda: bool(topics.counts([types_topic(f"in-a-{tmp_path.name}")])), "the types topic, without which no sink starts", poll_s=0.5
        )
        runs.start(sink)
        writers = [Writer(here, first=number * APART, pause_s=0) for number in range(WRITERS)]
        began = time.monotonic()
        wait_until(lambda: runs.all_run() and size(there) > LOADED + MORE and minute_reported(files), "a minute of the stream", poll_s=5)
        written = sum(writer.written - number * APART for number, writer in enumerate(writers))
        print(f"writers: {written / (time.monotonic() - began):,.0f} puts a second", flush=True)
        left, confirmed = lose(here, there, files, source, runs, writers)
        fail_back(here, there, files, (back_source, back_sink), runs, left, confirmed)
        turn_back(here, there, (back_source, back_sink), tmp_path, runs)
    finally:
        runs.stop()


def lose(
    here: IgniteCluster, there: IgniteCluster, files: list[str], source: Path, runs: Runs, writers: list[Writer]
) -> tuple[Entries, Entries]:
    """Kill A and the source, and fail over; return what B got, and what A confirmed."""
    killed = time.time()
    for pid in here.pids:
        os.kill(pid, signal.SIGKILL)
    runs.kill(source)
    began = time.monotonic()
    result, _ = timed("failover", *files)
    print(f"from the kill until B lives on: {time.monotonic() - began:.1f} s", flush=True)
    figures = result["transition"]["figures"]
    print(f"reported: {figures['behind']}; all: {figures['distance']}", flush=True)
    print(f"newest record: {killed - figures['distance']['newest_record_ms'] / 1000:.2f} s before the kill", flush=True)
    confirmed = merged(writers)
    left = entries(there)
    assert left is not None
    assert {key: f"v{key}" for key in left if key >= 0} == {key: value for key, value in left.items() if key >= 0}
    print(f"confirmed by A, and not on B: {len(confirmed.keys() - left.keys())} puts", flush=True)
    return left, confirmed


def fail_back(
    here: IgniteCluster, there: IgniteCluster, files: list[str], back: tuple[Path, Path], runs: Runs, left: Entries, confirmed: Entries
) -> None:
    """A comes back while B has writers; what A never sent is reported and sent, and A follows B."""
    writer = Writer(there, first=WRITERS * APART)
    began = time.monotonic()
    for node in range(3):
        here.start_node(node, wait=False)
    for node in range(3):
        here.await_node(node)
    with here.client() as client:
        client.get_cluster().set_state(1)
    print(f"A back: {time.monotonic() - began:.1f} s", flush=True)
    came_back = entries(here)
    assert came_back is not None
    assert confirmed.items() <= came_back.items(), "A lost nothing that it confirmed"
    report, _ = timed("failback", *files, "--report")
    (cache,) = report["caches"]
    print(f"never sent: {cache['stored']} stored, {cache['changed']} changed, {cache['removed']} removed", flush=True)
    assert cache["stored"] == len(came_back.keys() - left.keys())
    assert cache["removed"] == len(left.keys() - came_back.keys())
    assert cache["changed"] == 0
    on_step = {"wait for the run of": lambda: runs.start(back[0])}
    timed("failback", *files, "--send", "--output", str(back[0].parent), on_step=on_step)
    runs.start(back[1])
    seconds_until(lambda: size(here) > len(came_back) + MORE / 2, "the first new entries of B on A")
    written = writer.written
    wait_until(lambda: writer.written > written + MORE, "more entries on B")
    expected = came_back | writer.stop()
    seconds_until(lambda: size(here) == len(expected), "A equal to B, whose writer has stopped")
    assert entries(there) == entries(here) == expected


def turn_back(here: IgniteCluster, there: IgniteCluster, back: tuple[Path, Path], folder: Path, runs: Runs) -> None:
    """The reverse pair is switched over under a writer of B, so that A leads again."""
    before = entries(there)
    assert before is not None
    writer = Writer(there, first=(WRITERS + 1) * APART)
    stopped = []

    def stop_writer() -> None:
        written = writer.written
        wait_until(lambda: writer.written > written + MORE, "entries during the switchover")
        writer.stop()
        stopped.append(time.monotonic())

    again = folder / "again"
    again.mkdir()
    timed("switchover", *map(str, back), "--output", str(again), on_step={"wait until the lag": stop_writer})
    print(f"from the writer's stop to the end of the switchover: {time.monotonic() - stopped[0]:.1f} s", flush=True)
    for settings in back:
        runs.assert_ended(settings)
    expected = before | writer.stop()
    assert entries(here) == entries(there) == expected
    for name in ("reverse-source.json", "reverse-sink.json"):
        runs.start(again / name)
    writer = Writer(here, first=(WRITERS + 2) * APART)
    seconds_until(lambda: size(there) > len(expected) + MORE / 2, "the first new entries of A on B")
    expected |= writer.stop()
    seconds_until(lambda: size(there) == len(expected), "B equal to A, whose writer has stopped")
    assert entries(here) == entries(there) == expected
