"""When a task asks Kafka again whether it owns its slots."""

from __future__ import annotations

from ignite_kafka.sink.ownership import CONFIRMED_S, SlotConfirmations
from tests.support.fake_time import FakeTime


def test_an_answer_is_as_old_as_its_question() -> None:
    clock = FakeTime()
    confirmations = SlotConfirmations([1, 2], clock)
    clock.sleep(CONFIRMED_S)
    assert confirmations.outdated([1, 2, 1]) == []
    asked_s = confirmations.now()
    clock.sleep(CONFIRMED_S / 2)
    assert confirmations.outdated([2, 1, 2]) == [1, 2]
    confirmations.confirmed(1, asked_s)
    assert confirmations.outdated([1, 2]) == [2], "others were not asked"
    clock.sleep(CONFIRMED_S)
    assert confirmations.outdated([1]) == [1], "a task that sleeps while it waits for the answer asks again"
    assert confirmations.outdated([]) == []
