"""Lag of a sink by topic, from the offsets of its group, and of a source by cache, from its backlog."""

from __future__ import annotations

from contextlib import nullcontext
from typing import cast

import pytest

from ignite_kafka.admin import lag_by_name
from ignite_kafka.admin.lag_by_name import sink_lag, source_lag
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.stream.backlog_lag import BacklogLag, UnitLag
from tests.support.fake_lag import FakeTopics


def lag(**committed: int) -> dict[str, int]:
    topics = FakeTopics({int(name[1:]): offset for name, offset in committed.items()})
    return sink_lag(cast(Topics, topics), "connect-c", ["t", "deleted"])


def test_lag_of_a_sink_counts_from_its_groups_offsets() -> None:
    assert lag(p0=100, p1=95, p2=90) == {"t": 15}


def test_a_partition_without_an_offset_counts_from_its_first_record() -> None:
    assert lag(p0=100, p1=100) == {"t": 90}


def test_records_that_retention_deleted_do_not_count() -> None:
    assert lag(p0=100, p1=100, p2=0) == {"t": 90}


def test_lag_of_a_source_is_its_backlog_by_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    lag = BacklogLag(("a", "b"), (UnitLag("a", 0, 1, 5, 5, 90), UnitLag("a", 1, 1, 7, 7, 80)))
    monkeypatch.setattr(lag_by_name, "ignite_cluster", lambda settings, secrets: nullcontext(settings.name))
    monkeypatch.setattr(lag_by_name, "read_backlog_lag", lambda ask, connector: lag)
    assert source_lag(SourceSettings(name="c"), Secrets()) == {"a": 12, "b": 0}
