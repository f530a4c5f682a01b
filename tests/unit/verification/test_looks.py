"""Beside a run, a difference counts if its key has the same record at two looks with a wait between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ignite_kafka.verification import source_direction
from ignite_kafka.verification.direction import Judged
from ignite_kafka.verification.looks import MOST_LOOKS
from tests.support.verified_connector import Compared
from tests.unit.verification.test_job import equal_case

WRONG = b'{"shop":-1,"name":"wrong"}'


class BesideRun:
    """A copy of 40 entries, of which some records change before each look but the first."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, change: Callable[[list[Any], int], None], *, passed: bool = True) -> None:
        self.case: Compared = equal_case(40)
        (self.records,) = self.case.records
        self._monkeypatch, self._change, self._passed = monkeypatch, change, passed
        self.waits = 0

    def _settle(self) -> bool:
        self._change(self.records, self.waits)  # type: ignore[arg-type]
        self.waits += 1
        return self._passed

    def judged(self, **more: Any) -> Judged:
        return self.case.job(self._monkeypatch, settle=self._settle, **more)

    def damage(self, *numbers: int) -> list[Any]:
        """Give some keys a wrong last record; returns the right ones."""
        right = [self.records[number] for number in numbers]
        self.records.extend((self.records[number][0], WRONG) for number in numbers)  # type: ignore[attr-defined]
        return right


def unchanged(_: Any, __: int) -> None:
    """Change nothing."""


def test_equal_caches_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = BesideRun(monkeypatch, unchanged)
    assert (beside.judged().equal, beside.waits) == (True, 0)


def test_a_difference_that_stays_counts_after_one_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = BesideRun(monkeypatch, unchanged)
    beside.damage(3, 4)
    judged = beside.judged()
    assert (judged.result.different, judged.result.changing, beside.waits) == (2, 0, 1)
    assert len(judged.result.examples) == 2
    assert 1 <= len(judged.slices) <= 2


def test_a_change_on_its_way_is_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    right: list[Any] = []
    beside = BesideRun(monkeypatch, lambda records, wait: records.extend(right if wait == 0 else []))
    right += beside.damage(3, 4)[:1]
    judged = beside.judged()
    assert (judged.result.different, judged.result.changing, beside.waits) == (1, 0, 1)


def test_a_key_with_another_record_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its second record is as wrong as the first, and stays."""
    key = equal_case(40).records[0][3][0]
    beside = BesideRun(monkeypatch, lambda records, wait: records.extend([(key, WRONG)] if wait == 0 else []))
    beside.damage(3)
    judged = beside.judged()
    assert (judged.result.different, judged.result.changing, beside.waits) == (1, 0, 2)


def test_a_key_that_changes_at_each_look_is_counted_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    key = equal_case(40).records[0][3][0]
    beside = BesideRun(monkeypatch, lambda records, _: records.append((key, WRONG)))
    beside.damage(3)
    judged = beside.judged()
    assert (judged.result.different, judged.result.changing, judged.equal) == (0, 1, True)
    assert beside.waits == MOST_LOOKS


def test_after_a_wait_in_vain_each_difference_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    key = equal_case(40).records[0][3][0]
    beside = BesideRun(monkeypatch, lambda records, _: records.append((key, WRONG)), passed=False)
    beside.damage(3)
    judged = beside.judged()
    assert (judged.result.different, judged.result.changing, beside.waits) == (1, 0, 1)


@pytest.mark.parametrize("kind", ["missing", "unexpected"])
def test_missing_and_unexpected_keys_are_looked_at_again(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of them is on its way, the other one stays."""
    gone: list[Any] = []
    beside = BesideRun(monkeypatch, lambda records, wait: records.extend(gone if wait == 0 else []))
    if kind == "missing":
        gone += [beside.records[3]]
        del beside.records[3:5]  # type: ignore[attr-defined]
    else:
        beside.records.extend([(b"1000", WRONG), (b"1001", WRONG)])  # type: ignore[attr-defined]
        gone += [(b"1000", None)]
    judged = beside.judged()
    assert (getattr(judged.result, kind), judged.result.count, beside.waits) == (1, 1, 1)


def test_entries_that_cannot_be_read_count_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are noted without a key, by which a second look could find them."""
    case = equal_case(2)
    result = case.job(monkeypatch).result
    result.note("missing", b"", "an entry cannot be read by rows")
    assert (result.keyless, result.pop_keys()) == (1, [])


@pytest.mark.parametrize(("at_most", "repaired"), [(0, 3), (3, 3), (2, 0)])
def test_a_repair_changes_all_or_nothing_by_its_bound(at_most: int, repaired: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that are equal by their meaning are suspects, and do not count."""
    case = equal_case(40)
    (records,) = case.records
    records.extend((records[number][0], WRONG) for number in (3, 4, 5))  # type: ignore[attr-defined]
    records.append((records[9][0], records[9][1].replace(b",", b", ")))  # type: ignore[attr-defined, union-attr]
    sent: list[int] = []

    def send_again(*given: Any) -> int:
        sent.append(sum(map(len, given[-1])))
        return sent[-1]

    monkeypatch.setattr(source_direction, "send_again", send_again)
    judged = case.job(monkeypatch, repair=True, repair_at_most=at_most)
    assert (judged.result.different, judged.repaired, sum(sent), judged.equal) == (3, repaired, repaired, bool(repaired))


def test_equal_by_meaning_needs_no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    beside = BesideRun(monkeypatch, unchanged)
    key, value = beside.records[3]
    beside.records.append((key, value.replace(b",", b", ")))  # type: ignore[attr-defined, union-attr]
    assert (beside.judged().equal, beside.waits) == (True, 0)
