"""A record of the configs topic ends a run whose connector a newer run has taken."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from ignite_kafka.errors import Fenced, OffsetsLost
from ignite_kafka.runtime.fencing import fencing_error
from ignite_kafka.state.internal_records import FORMAT, InternalRecord

PLAN: Any = SimpleNamespace(connector="c", generation=3)


def record(kind: str, name: str, value: object) -> InternalRecord:
    return InternalRecord(kind, name, (), json.dumps(value).encode(), FORMAT, {"topic": "in-configs"})


def test_a_newer_run_of_the_connector_fences() -> None:
    error = fencing_error(PLAN, record("connector", "c", {"generation": 4}))
    assert isinstance(error, Fenced)
    assert "generation 4 of connector 'c' has taken over from generation 3" in str(error)


@pytest.mark.parametrize(
    ("kind", "name", "generation"), [("connector", "c", 3), ("connector", "c", 2), ("connector", "other", 4), ("epoch", "c", 4)]
)
def test_no_other_record_fences(kind: str, name: str, generation: int) -> None:
    assert fencing_error(PLAN, record(kind, name, {"generation": generation})) is None


def test_a_connector_s_record_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(OffsetsLost):
        fencing_error(PLAN, record("connector", "c", ["no", "object"]))
