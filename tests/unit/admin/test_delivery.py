"""Delivery of a sink as its status shows it: on the command line, by REST and on the page."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from ignite_kafka.admin.connect_states import ConnectState
from ignite_kafka.admin.delivery import LATE_PUTS, SinkDelivery, delivery_of
from ignite_kafka.admin.overview import ConnectorOverview
from ignite_kafka.cli.views import StatusView
from ignite_kafka.connect_rest.answers import status_of
from ignite_kafka.events import DELIVERY_CONVERGES
from ignite_kafka.settings.sink import CONVERGING, STRICT, SinkSettings
from ignite_kafka.state.configs import ConnectorRecord, ConnectorState


def record_of(**settings: Any) -> ConnectorRecord:
    return ConnectorRecord(1, 2, settings=SinkSettings(name="c", topics=("t",), **settings).to_dict())


@pytest.mark.parametrize(
    ("record", "delivery"),
    [
        (None, None),
        (ConnectorRecord(1, 2, settings={"delivery": STRICT}), None),
        (record_of(), SinkDelivery(CONVERGING)),
        (record_of(process_updates=True), SinkDelivery(CONVERGING, LATE_PUTS)),
        (record_of(process_updates=True, delivery=STRICT), SinkDelivery(STRICT)),
        (ConnectorRecord(1, 2, settings={"topics": ["t"], "process_updates": True}), SinkDelivery(CONVERGING, LATE_PUTS)),
    ],
)
def test_the_newest_run_decides(record: ConnectorRecord | None, delivery: SinkDelivery | None) -> None:
    assert delivery_of(record) == delivery
    shown = None if delivery is None else asdict(delivery)
    assert StatusView(ConnectorState(record), {}).to_dict()["delivery"] == shown
    assert status_of(ConnectorOverview("c", ConnectorState(record)), ConnectState("RUNNING", 1, "w")).get("delivery") == shown


def test_it_is_a_line_of_the_status() -> None:
    text = StatusView(ConnectorState(record_of(process_updates=True)), {}).text()
    assert f"\ndelivery converging: {LATE_PUTS}\n" in text
    assert "\ndelivery strict\n" in StatusView(ConnectorState(record_of(delivery=STRICT)), {}).text()


def test_the_event_of_a_start_has_the_same_words() -> None:
    assert DELIVERY_CONVERGES.message.startswith(LATE_PUTS)
