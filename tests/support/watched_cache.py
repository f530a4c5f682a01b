"""Changes of a sink's cache, as a continuous query of a Java client hears of them (tests/java/WatchEntries.java)."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.java_programs import IGNITE_CLIENT_JVM
from tests.support.waiting import REQUEST_S, wait_until
from tools.servers import Jars
from tools.servers.jars import java_command

Change = tuple[int, int | None]
"""Key, and number of the value; None: the entry was removed."""


class WatchedCache:
    """Changes of one cache since it is watched, in the order of each key."""

    def __init__(self, log: Path) -> None:
        self._log = log

    def changes(self) -> list[Change]:
        """Changes so far; a line that is being written is left for the next call."""
        whole, _, _ = self._log.read_text().rpartition("\n")
        lines = [line.split() for line in whole.splitlines() if line != "watching"]
        lost = [line for line in lines if line[0] == "disconnected"]
        assert not lost, f"the watching client lost its node: {lost}"
        return [(int(key), None if number == "-" else int(number)) for key, number in lines]

    def await_newest(self, entries: Mapping[int, int]) -> list[Change]:
        """Wait until the newest change of each key is what the cache has, and return all changes."""

        def all_changes() -> list[Change] | None:
            changes = self.changes()
            newest = {key: number for key, number in dict(changes).items() if number is not None}
            return changes if newest == entries else None

        return wait_until(all_changes, "the watching client has heard of all changes")


@contextmanager
def watched(jars: Jars, classes: Path, log: Path, address: str, cache: str) -> Iterator[WatchedCache]:
    """Watch a cache through one node, which must live on."""
    command = java_command("WatchEntries", [address, cache], [classes, jars.thin_client], IGNITE_CLIENT_JVM)
    with log.open("w") as out, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out) as process:
        try:
            wait_until(lambda: "watching" in log.read_text(), f"{cache} is watched")
            yield WatchedCache(log)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(REQUEST_S)
            except subprocess.TimeoutExpired:
                process.kill()


def steps_back(changes: Sequence[Change], histories: Mapping[int, Sequence[int | None]]) -> Counter[int]:
    """Count for each key the changes to a state that its topic has before the state of the change before.

    :param histories: key to the numbers of its records in their order; None: a tombstone. Numbers are unique, so places of values are
        known; of the tombstones that a removal may come from, those with the least steps count.
    """
    least: dict[int, dict[int, int]] = {}  # key to steps so far, by the place of its present state
    for key, number in changes:
        before = least.get(key, {-1: 0})
        places = [place for place, recorded in enumerate(histories[key]) if recorded == number]
        least[key] = {place: min(steps + (place < last) for last, steps in before.items()) for place in places}
    return +Counter({key: min(steps.values()) for key, steps in least.items()})
