"""A run that begins during a repair: what the repair would send late never follows what the run sends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from ignite_kafka.errors import Fenced
from ignite_kafka.kafka.records import Records
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.runtime.clients import ignite_cluster
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.state.configs import read_connector
from ignite_kafka.state.types_topic import write_uses
from ignite_kafka.verification import repair
from ignite_kafka.verification.connector import _make_source_plan
from ignite_kafka.verification.repair import send_again
from ignite_kafka.verification.repair_claim import Idle
from tests.integration.verification.test_connector import last_records
from tests.support.snapshot_world import World

STALE = Records(pa.array([b'"key 1"'], pa.binary()), pa.array([b'"stale"'], pa.binary()))


def repaired_beside(world: World, monkeypatch: pytest.MonkeyPatch, late: Callable[[], None], early: Callable[[], None]) -> None:
    """Repair a key; ``early`` is called before its task makes a producer, ``late`` before the producer gets the first record."""

    def suspended(*given: Any) -> None:
        late()
        write_uses(*given)

    monkeypatch.setattr(repair, "write_uses", suspended)
    with ignite_cluster(world.settings, Secrets()) as cluster, Idle.check(world.clients, world.settings, force=False).claim(3) as claim:
        early()
        plan, _ = _make_source_plan(world.settings, world.clients, cluster)
        (cache,) = (one for one in plan.caches if one.name == f"{world.stem}-names")
        send_again(plan, claim, world.clients, cluster, cache, [STALE])


@pytest.mark.parametrize("early", [False, True])
def test_a_run_that_begins_fences_the_repair(fresh: World, monkeypatch: pytest.MonkeyPatch, early: bool) -> None:
    """Before, the stale record was committed after the run's, and an error said so afterwards."""
    fresh.run()
    topic = f"{fresh.settings.topic_prefix}{fresh.stem}-names"
    right = last_records(fresh, topic)
    nothing: Callable[[], None] = lambda: None  # noqa: E731
    calls = (nothing, fresh.run) if early else (fresh.run, nothing)
    with pytest.raises(Fenced, match="began during the repair"):
        repaired_beside(fresh, monkeypatch, *calls)
    assert last_records(fresh, topic) == right
    state = read_connector(fresh.clients, Topics(fresh.clients), fresh.settings.internal_topic_prefix, fresh.settings.name)
    assert state.connector is not None
    assert (state.connector.generation, state.repair) == (2, None)


def test_a_repair_that_is_alone_sends_and_leaves_nothing_behind(fresh: World, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh.run()
    repaired_beside(fresh, monkeypatch, lambda: None, lambda: None)
    assert last_records(fresh, f"{fresh.settings.topic_prefix}{fresh.stem}-names")[b'"key 1"'] == b'"stale"'
    state = read_connector(fresh.clients, Topics(fresh.clients), fresh.settings.internal_topic_prefix, fresh.settings.name)
    assert state.repair is None


def test_a_repair_that_died_is_fenced_by_the_next_run(fresh: World) -> None:
    fresh.run()
    with pytest.raises(KeyboardInterrupt), Idle.check(fresh.clients, fresh.settings, force=False).claim(3) as claim:
        raise KeyboardInterrupt
    claim.check(fresh.clients)  # it still has the claim, because nobody has taken it
    fresh.run()
    with pytest.raises(Fenced, match="began during the repair"):
        claim.check(fresh.clients)
