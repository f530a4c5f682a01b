"""Why signals cannot be done, before a task takes one up: whatever a signal's condition is, it ends the signal alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from ignite_kafka.admin.signals import _check_condition
from ignite_kafka.errors import SettingsError
from ignite_kafka.source.stream.signal_check import NEEDS_SERVICE, signal_fault
from ignite_kafka.state.signal_records import CacheSelection, Signal

PLAN = SimpleNamespace(caches=(SimpleNamespace(name="prices", partitions=4),))
CLUSTER = SimpleNamespace(cache=lambda name: SimpleNamespace(name=name, query_entities=()))
WRONG = [("a =", "the end was found"), ("f(a)", "function f is not supported"), ("1 / 0 = 1", "division by zero")]


def fault(cache: str = "prices", *, has_service: bool = True, **selection: Any) -> str:
    signal = Signal("one", (CacheSelection(cache, **selection),))
    return signal_fault(signal, cast(Any, PLAN), cast(Any, CLUSTER), has_service=has_service)


@pytest.mark.parametrize(("where", "why"), WRONG)
def test_a_wrong_condition_is_a_fault_of_the_signal(where: str, why: str) -> None:
    assert why in fault(where=where)
    with pytest.raises(SettingsError, match=why):
        _check_condition(CacheSelection("prices", where))


def test_caches_partitions_and_a_capture_without_the_service() -> None:
    assert fault(where="a = 1", partitions=(0, 3)) == ""
    assert "no partition 4" in fault(partitions=(4,))
    assert "prices" in fault("price")
    assert fault(has_service=False) == NEEDS_SERVICE
