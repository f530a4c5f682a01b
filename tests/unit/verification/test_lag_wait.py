"""The wait for a connector's lag: until what it had to copy is copied, or the time is over."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ignite_kafka.admin.connector_lag import ConnectorLag
from ignite_kafka.errors import KafkaUnavailable
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.partition_lag import PartitionLag
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.verification import lag_wait
from ignite_kafka.verification.lag_wait import LagWait
from tests.support.fake_time import FakeTime

SINK = SinkSettings(name="c", topics=("t",))
STREAM = SourceSettings(name="c", cache_whitelist=("x",), run_mode="continuous", failover_policy="BACKLOG")
QUERIES = SourceSettings(name="c", cache_whitelist=("x",), run_mode="continuous")


class Connector:
    """A connector with the lags of the next looks at it; the last one stays."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lags: list[ConnectorLag | Exception] = []
        self.flushed = 0
        self.time = FakeTime()
        monkeypatch.setattr(lag_wait, "read_lag", self._read)
        monkeypatch.setattr(lag_wait, "flush_captured", self._flush)

    def _read(self, *_: Any) -> ConnectorLag:
        lag = self.lags.pop(0) if len(self.lags) > 1 else self.lags[0]
        if isinstance(lag, Exception):
            raise lag
        return lag

    def _flush(self, _cluster: Any, name: str) -> None:
        assert name == "c"
        self.flushed += 1

    def wait(self, settings: ConnectorSettings = SINK, wait_s: float = 60) -> LagWait:
        return LagWait(settings, KafkaClients({}), connect, wait_s, self.time, self.time.sleep)


class Cluster:
    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""


def connect() -> Any:
    return Cluster()


def behind(*positions: tuple[int, int], loaded: bool = True) -> ConnectorLag:
    """The lag in partitions with a position and an end."""
    partitions = tuple(PartitionLag("t", number, at, end, end - at) for number, (at, end) in enumerate(positions))
    return ConnectorLag("c", "RUNNING", loaded, tuple(partition for partition in partitions if partition.count))


@pytest.fixture
def connector(monkeypatch: pytest.MonkeyPatch) -> Connector:
    return Connector(monkeypatch)


def test_it_waits_for_the_lag_at_the_call_and_not_for_later_records(connector: Connector) -> None:
    connector.lags = [behind((5, 9), (3, 3)), behind((7, 20), (3, 8)), behind((9, 30), (3, 9))]
    assert connector.wait()() is True
    assert (len(connector.lags), connector.flushed) == (1, 0)


def test_a_stream_has_its_captured_changes_in_the_backlog_first(connector: Connector) -> None:
    connector.lags = [behind((0, 4)), behind((0, 4), loaded=False), behind()]
    assert connector.wait(STREAM)() is True
    assert connector.flushed == 1


def test_the_time_of_all_calls_is_limited(connector: Connector, caplog: pytest.LogCaptureFixture) -> None:
    connector.lags = [behind((5, 9))]
    wait = connector.wait(wait_s=10)
    assert wait() is False
    assert "has not copied in time" in caplog.text
    assert sum(connector.time.slept) == pytest.approx(10)
    assert wait() is False
    assert sum(connector.time.slept) == pytest.approx(10)
    connector.lags = [behind()]
    assert wait() is True, "nothing is to be copied"


def test_a_lag_that_cannot_be_read_is_read_again(connector: Connector) -> None:
    connector.lags = [KafkaUnavailable("gone"), behind((5, 9)), KafkaUnavailable("gone"), behind()]
    assert connector.wait()() is True


def test_without_a_backlog_the_lag_is_unknown(connector: Connector) -> None:
    wait = connector.wait(QUERIES, 30)
    assert (wait(), wait()) == (True, True)
    assert sum(connector.time.slept) == pytest.approx(30)


@pytest.mark.parametrize(
    ("settings", "ended", "waits"),
    [(SINK, False, True), (SINK, True, False), (STREAM, False, True), (SourceSettings(name="c", cache_whitelist=("x",)), False, False)],
)
def test_only_a_connector_that_copies_changes_is_waited_for(
    settings: ConnectorSettings, ended: bool, waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lag_wait, "newest_run", lambda *_: SimpleNamespace(unknown=False, ended=ended))
    assert (LagWait.of(settings, KafkaClients({}), connect, 1) is not None) is waits


def test_a_connector_that_never_ran_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lag_wait, "newest_run", lambda *_: SimpleNamespace(unknown=True, ended=False))
    assert LagWait.of(SINK, KafkaClients({}), connect, 1) is None
