"""When a task asks Kafka again whether it owns its slots."""

from __future__ import annotations

import pytest

from ignite_kafka.sink.ownership import MAX_CONFIRMED_S, MIN_CONFIRMED_S, SlotConfirmations
from tests.support.fake_time import FakeTime


def test_an_answer_is_as_old_as_its_question() -> None:
    clock = FakeTime()
    confirmations = SlotConfirmations([1, 2], clock)
    clock.sleep(MIN_CONFIRMED_S)
    assert confirmations.outdated([1, 2, 1]) == []
    clock.sleep(0.01)
    asked_s = confirmations.now()
    assert confirmations.outdated([2, 1, 2]) == [1, 2]
    confirmations.confirmed([1], asked_s)
    assert confirmations.outdated([1, 2]) == [2], "others were not asked"
    clock.sleep(MIN_CONFIRMED_S)
    assert confirmations.outdated([1]) == []
    clock.sleep(0.01)
    assert confirmations.outdated([1]) == [1]
    assert confirmations.outdated([]) == []


@pytest.mark.parametrize("slept_s", [MAX_CONFIRMED_S, 60.0])
def test_a_task_that_sleeps_while_it_waits_for_the_answer_asks_again(slept_s: float) -> None:
    clock = FakeTime()
    confirmations = SlotConfirmations([1], clock)
    asked_s = confirmations.now()
    clock.sleep(slept_s)
    confirmations.confirmed([1], asked_s)
    clock.sleep(0.01)
    assert confirmations.outdated([1]) == [1]


@pytest.mark.parametrize(("question_s", "most"), [(0.011, 0.02), (0.19, 0.06), (0.25, 0.06), (1.0, 0.2), (3.0, 0.6)])
def test_questions_take_a_small_share_of_the_time(question_s: float, most: float) -> None:
    """Between requests of 10 ms: up to 250 ms a question they take a twentieth, and a put never follows each question."""
    clock = FakeTime()
    confirmations = SlotConfirmations(range(64), clock)
    began_s, asking_s, longest_s = clock(), 0.0, 0.0
    confirmed_s = began_s
    while clock() - began_s < 600.0:
        if outdated := confirmations.outdated(range(64)):
            confirmed_s = confirmations.now()
            clock.sleep(question_s)
            confirmations.confirmed(outdated, confirmed_s)
            asking_s += question_s
        longest_s = max(longest_s, clock() - confirmed_s)
        clock.sleep(0.01)
    assert asking_s / (clock() - began_s) <= most
    assert longest_s <= max(MIN_CONFIRMED_S, min(20 * question_s, MAX_CONFIRMED_S)) + 0.001
