"""The stream's oracle against topics that are wrong in each way: a judge that passes everything judges nothing."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.support.oracle import TopicContents, TopicRecord
from tests.support.stream_oracle import Verdict, compare

ENTRIES = {b"1": 7, b"2": 9}
RIGHT = [(b"1", 3), (b"3", 4), (b"2", 5), (b"1", 7), (b"3", None), (b"2", 9)]


def contents(records: Iterable[tuple[bytes, int | None]], partitions: Iterable[int] = ()) -> TopicContents:
    places = list(partitions)
    made = [
        TopicRecord(key, None if value is None else str(value).encode(), places[at] if places else 0, at)
        for at, (key, value) in enumerate(records)
    ]
    return TopicContents("t", tuple(made), frozenset())


def faulty(verdict: Verdict) -> set[str]:
    return {line.split(" ")[2].rstrip(":") for line in verdict.faults()}


def test_a_topic_that_follows_its_cache_passes() -> None:
    verdict = compare(contents(RIGHT), ENTRIES)
    assert (verdict.faults(), verdict.same) == ([], True)
    assert (verdict.records, verdict.tombstones, verdict.entries) == (6, 1, 2)
    assert str(verdict) == "t: 6 records (1 tombstones, 0 repeated), 2 entries; the fold is the cache"


@pytest.mark.parametrize(
    ("records", "kinds"),
    [
        pytest.param(RIGHT[:2] + RIGHT[3:5], {"missing"}, id="an entry without a record"),
        pytest.param([*RIGHT, (b"2", None)], {"missing"}, id="an entry that the topic says was removed"),
        pytest.param(RIGHT[:4] + RIGHT[5:], {"extra"}, id="a removal that did not arrive"),
        pytest.param(RIGHT[:3] + RIGHT[4:], {"different"}, id="an update that did not arrive"),
        pytest.param([*RIGHT, RIGHT[-1]], {"repeated"}, id="a value sent twice"),
        pytest.param([*RIGHT, RIGHT[-1], (b"2", 10)], {"repeated", "different"}, id="a value sent twice amid others"),
        pytest.param([*RIGHT[:5], RIGHT[4], RIGHT[5]], {"repeated"}, id="a removal sent twice"),
        pytest.param([*RIGHT[:3], RIGHT[3], RIGHT[0], *RIGHT[3:]], {"steps_back"}, id="a step back that is made good"),
        pytest.param([*RIGHT, RIGHT[0]], {"steps_back", "different"}, id="a step back that stays"),
        pytest.param([*RIGHT, (b"1", None), (b"1", 7)], {"steps_back"}, id="a removal out of its order"),
        pytest.param([*RIGHT, (b"3", 4)], {"steps_back", "extra"}, id="a value that returns after its removal"),
        pytest.param([(b"1", -5), *RIGHT], {"rolled_back"}, id="a value that was rolled back"),
        pytest.param([], {"missing"}, id="an empty topic"),
    ],
)
def test_each_kind_of_fault_is_found(records: list[tuple[bytes, int | None]], kinds: set[str]) -> None:
    assert faulty(compare(contents(records), ENTRIES)) == kinds


def test_a_key_in_two_partitions_is_found() -> None:
    assert faulty(compare(contents(RIGHT, [0, 0, 0, 1, 0, 0]), ENTRIES)) == {"scattered"}


def test_repetitions_are_counted_where_they_are_allowed() -> None:
    verdict = compare(contents([*RIGHT, RIGHT[-1], RIGHT[-1]]), ENTRIES)
    assert verdict.faults(besides=["repeated"]) == []
    assert len(verdict.repeated) == 2
    assert verdict.same
    assert not compare(contents([*RIGHT, RIGHT[-1], (b"1", 8)]), ENTRIES).same


def test_a_record_without_a_key_is_no_record_of_a_cache() -> None:
    with pytest.raises(AssertionError, match="without a key"):
        compare(TopicContents("t", (TopicRecord(None, b"1", 0, 0),), frozenset()), ENTRIES)
