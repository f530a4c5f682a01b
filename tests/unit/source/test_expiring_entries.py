"""Entries that expire are reported once a cache, unless the run sends their removal."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka import events
from ignite_kafka.ignite.cache_configuration import CacheConfiguration
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.expiring_entries import report_expiry_policies
from tests.support.backlog_changes import CACHE
from tests.support.backlog_simulator import Simulator
from tests.support.event_log import event_log
from tests.support.stream_task import Task

MINUTE = 60_000
ETERNAL, UNCHANGED = -1, -2
POLICIES = {
    "plain": None, "eternal": (ETERNAL, ETERNAL, ETERNAL), "kept": (ETERNAL, UNCHANGED, UNCHANGED),
    "created": (MINUTE, UNCHANGED, UNCHANGED), "touched": (ETERNAL, UNCHANGED, MINUTE),
}  # fmt: skip
CACHES = [CacheConfiguration(name, expiry_policy=policy) for name, policy in POLICIES.items()]


@pytest.mark.parametrize(
    ("settings", "reported"),
    [
        ({}, ["created", "touched"]),
        ({"process_removals": True}, ["created", "touched"]),  # a snapshot sends no removals
        ({"run_mode": "continuous"}, ["created", "touched"]),
        ({"run_mode": "continuous", "process_removals": True}, []),
    ],
)
def test_caches_with_an_expiry_policy_are_reported_by_runs_that_send_no_removals(settings: dict[str, Any], reported: list[str]) -> None:
    with event_log() as found:
        report_expiry_policies(SourceSettings(name="c", **settings), CACHES)
    assert [(id, fields["cache"]) for id, fields in found] == [(events.ENTRIES_EXPIRE.id, name) for name in reported]


@pytest.mark.parametrize("removals", [False, True])
def test_a_stream_that_sees_an_entry_expire_notes_its_cache(removals: bool) -> None:
    events.take_notes()
    simulator = Simulator()
    task = Task(simulator, process_removals=removals)
    simulator.put(0)
    task.batch()
    assert events.take_notes() == frozenset()
    for _ in range(2):
        simulator.expire(0)
        task.batch()
        simulator.put(0)
        task.batch()
    task.stop()
    assert [(id, dict(fields)["cache"]) for id, fields in events.take_notes()] == [(events.ENTRIES_EXPIRE.id, CACHE.name)] * (not removals)
