"""Differences beside a run count only if they are still there after the lag has passed, on real servers."""

from __future__ import annotations

import pytest
from pyignite.datatypes import LongObject

from ignite_kafka.verification.lag_wait import LagWait
from tests.support.sink_connector import Running, Sink, trade
from tests.support.verified_results import counts, verified
from tests.support.waiting import wait_until


def test_changes_on_their_way_are_no_differences(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry is newer than the records of the first look, and its record comes before the second; another is wrong."""
    sink.send([trade(number) for number in range(30)])
    with Running(sink, slots=1) as running:
        running.awaits(set(range(30)))
        wait_until(lambda: running.alive and verified(sink)["cache"].result.equal, "the commit of the stored records")
        with sink.ignite.client() as client:
            cache = client.get_cache(sink.cache)
            entry = cache.get(20, key_hint=LongObject)
            cache.put(7, entry, key_hint=LongObject)  # its record is on its way
            cache.put(8, entry, key_hint=LongObject)
        looks: list[bool] = []
        wait = LagWait.__call__

        def send_and_wait(self: LagWait) -> bool:
            if not looks:
                sink.send([(b"7", trade(20)[1])])
            looks.append(wait(self))
            return looks[-1]

        monkeypatch.setattr(LagWait, "__call__", send_and_wait)
        found = verified(sink)["cache"]
        assert (counts(found), found.result.changing) == ((30, 30, 0, 1, 0), 0)
        assert [item.text.partition(":")[0] for item in found.result.noted] == ["key 8"]
        assert looks == [True]
