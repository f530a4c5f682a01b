"""What differs between connector files and Kafka; tests/integration/admin/test_declared_state.py has real servers."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka.admin.declared_state import ActualConnector, differences
from ignite_kafka.settings.files.connector_files import DeclaredConnector
from ignite_kafka.settings.files.declared_offsets import DeclaredOffset
from ignite_kafka.settings.files.load import LoadedSettings


def rows(found: ActualConnector, **declared: Any) -> list[tuple[Any, ...]]:
    values = {"name": "c", "topic_prefix": "t-", **declared.pop("values", {})}
    one = DeclaredConnector("c.yaml", 1, "c", LoadedSettings(values, {}), **declared)
    return [(row.what, row.place, row.declared, row.actual, row.note) for row in differences(one, one.settings(), found)]


SETTINGS = DeclaredConnector("c.yaml", 1, "c", LoadedSettings({"name": "c", "topic_prefix": "t-"}, {})).settings().to_dict()


def test_nothing_differs() -> None:
    assert rows(ActualConnector(True, settings=SETTINGS)) == []


@pytest.mark.parametrize(("state", "note"), [("running", "its Dag or `ignite-kafka run` starts it"), ("paused", "; apply again then")])
def test_a_connector_that_was_never_started(state: str, note: str) -> None:
    [(what, _, declared, _, said)] = rows(ActualConnector(), state=state)
    assert (what, declared) == ("not started", state)
    assert said.endswith(note)


@pytest.mark.parametrize(("state", "target"), [("running", "stopped"), ("paused", "running"), ("stopped", "running")])
def test_states(state: str, target: str) -> None:
    assert rows(ActualConnector(True, target=target, settings=SETTINGS), state=state) == [("state", "", state, target, "")]


@pytest.mark.parametrize(("ended", "note"), [(True, "by its next run"), (False, "when it is started again")])
def test_settings_of_the_newest_run(ended: bool, note: str) -> None:
    found = ActualConnector(True, ended, settings={**SETTINGS, "topic_prefix": "old-", "ignite_addresses": ["other:1"]})
    assert rows(found) == [("setting", "topic_prefix", "t-", "old-", note)]


def test_offsets() -> None:
    found = ActualConnector(True, settings=SETTINGS, target="stopped", offsets={("flights", 1): 5, ("flights", 2): 7})
    offsets = (DeclaredOffset("flights", 1, 5), DeclaredOffset("flights", 2, 3), DeclaredOffset("air", 0, None))
    note = "only while stopped, with --alter-offsets"
    assert rows(found, state="stopped", offsets=offsets) == [("offset", "flights, partition 2", 3, 7, note)]
