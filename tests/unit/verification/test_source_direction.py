"""What a source's comparison reads of a topic that several caches share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from ignite_kafka.kafka.records import Consumed
from ignite_kafka.plan.source_plan import CachePlan, TransferPlan
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.verification import source_direction
from ignite_kafka.verification.direction import ComparedPair
from ignite_kafka.verification.source_direction import SourceDirection
from tests.support.to_ignite_records import consumed
from tests.unit.sink.test_cache_division import with_names


@pytest.mark.parametrize(("header", "keys"), [("cache", [b"0", b"3"]), ("", [b"0", b"1", b"2", b"3"])])
def test_records_of_other_caches_are_left_out(monkeypatch: pytest.MonkeyPatch, header: str, keys: list[bytes]) -> None:
    given = with_names(consumed([b"a", b"b", b"c", None]), [b"orders", b"returns", None, b"orders"])
    asked: list[dict[str, Any]] = []

    def read(*_: Any, **named: Any) -> Iterator[Consumed]:
        asked.append(named)
        yield given

    monkeypatch.setattr(source_direction, "topic_batches", read)
    settings = SourceSettings(name="c", cache_header=header)
    plan = TransferPlan("c", "s", 0, 1, settings, (CachePlan("orders", 1, "topic", 1, 1),))
    direction = SourceDirection(plan, Secrets())
    direction.__dict__["clients"] = cast(Any, None)
    (batch,) = direction.read_records(ComparedPair("orders", "topic", ((0, 9),), 1), [0])
    taken, values = batch.take(cast(Any, range(len(batch.rows))))
    assert taken.to_pylist() == keys
    assert values.null_count == 1
    assert asked == [{"headers": bool(header)}]
