"""The memory of comparisons: which slices come next, what is kept, and which events are emitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from ignite_kafka import events
from ignite_kafka.errors import KafkaUnavailable
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.comparison_history import ComparisonHistory, CoverageRecord, PastComparison
from ignite_kafka.state.status import StatusWriter
from ignite_kafka.verification import memory
from ignite_kafka.verification.direction import ComparedPair, Judged
from ignite_kafka.verification.entry_comparison import PairDifferences
from ignite_kafka.verification.key_slices import ALL, SLICES
from ignite_kafka.verification.memory import ComparisonMemory
from ignite_kafka.verification.result import VerifyOptions, VerifyResult

DAY = 86_400_000
NOW = 1_000 * DAY
SETTINGS = SourceSettings(name="c", cache_whitelist=("x",))
PAIR = ComparedPair("x", "t-x", ((0, 5),), 4)
ROUTED = ComparedPair("anywhere", "t", ((0, 5),), 0, routed=True)


class Kept:
    """What a memory writes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.past: list[PastComparison] = []
        self.coverage: list[Mapping[tuple[str, str], CoverageRecord]] = []
        self.events: list[int] = []
        self.forgotten: list[str] = []
        self.refusal: KafkaUnavailable | None = None
        monkeypatch.setattr(StatusWriter, "__init__", lambda *_: None)
        monkeypatch.setattr(StatusWriter, "ensure_topic", staticmethod(lambda *_: None))
        monkeypatch.setattr(StatusWriter, "flush", lambda _: None)
        monkeypatch.setattr(memory, "write_history", self._write)
        monkeypatch.setattr(memory, "EventRecorder", lambda *_: self)
        monkeypatch.setattr(memory, "forget_old", lambda _writer, _events, _name, ids: self.forgotten.extend(ids))

    def _write(self, _writer: Any, name: str, past: PastComparison, coverage: Mapping[tuple[str, str], CoverageRecord]) -> None:
        assert name == "c"
        if self.refusal is not None:
            raise self.refusal
        self.past.append(past)
        self.coverage.append(coverage)

    def open_topic(self, *_: Any) -> None:
        """No topic of events."""

    def record(self, counts: Mapping[int, Any]) -> None:
        self.events.extend(counts)

    def close(self) -> None:
        """Nothing to close."""


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Kept:
    return Kept(monkeypatch)


def past(day: int, **changed: Any) -> PastComparison:
    return PastComparison(f"v{day}", NOW + day * DAY, NOW + day * DAY + 1, **changed)


def history(*days: int, coverage: CoverageRecord | None = None) -> ComparisonHistory:
    covered = {} if coverage is None else {("x", "t-x"): coverage}
    return ComparisonHistory({f"v{day}": past(day) for day in days}, covered)


def made(options: VerifyOptions, before: ComparisonHistory | None = None, day: int = 10) -> ComparisonMemory:
    return ComparisonMemory(SETTINGS, KafkaClients({}), options, before or ComparisonHistory(), NOW + day * DAY)


def judged(**counts: Any) -> Judged:
    return Judged(PairDifferences("x", "t-x", entries=9, records=8, **counts))


def test_the_interval_is_the_usual_time_between_comparisons() -> None:
    assert made(VerifyOptions()).interval_ms is None
    assert made(VerifyOptions(), history(9)).interval_ms == DAY
    assert made(VerifyOptions(), history(0, 6, 7, 8, 9)).interval_ms == DAY, "one comparison was left out"
    assert made(VerifyOptions(), history(9, 10)).interval_ms == DAY, "an extra one at the same time"


def test_a_sample_continues_where_the_one_before_ended(kept: Kept) -> None:
    before = CoverageRecord(((0, 500, NOW), (500, SLICES, 0)), NOW)
    chosen = made(VerifyOptions(percent=5), history(9, coverage=before))
    pairs = chosen.with_slices([PAIR, ROUTED])
    assert [pair.slices for pair in pairs] == [((500, 1_000),), ((0, 500),)]
    result = chosen.conclude([judged()])
    assert (result.sample, result.oldest_ms, result.equal) == (5, None, True)
    (coverage,) = kept.coverage
    assert coverage == {("x", "t-x"): CoverageRecord(((0, 500, NOW), (500, 1_000, NOW + 10 * DAY), (1_000, SLICES, 0)), NOW)}
    assert kept.events == []


@pytest.mark.parametrize(
    ("found", "due"),
    [
        ({"missing": 1, "slices": {700}}, ((700, 701),)),
        ({"missing": 2, "keyless": 1, "slices": {700}}, ((500, 1_000),)),  # an entry without a key may be in any of them
        ({"missing": 1, "slices": {700}, "repaired": 1}, ()),
        ({}, ()),
    ],
)
def test_slices_with_differences_are_compared_again_until_they_are_equal(
    found: dict[str, Any], due: tuple[tuple[int, int], ...], kept: Kept
) -> None:
    """A comparison of others that are equal would say that the connector is."""
    before = CoverageRecord(((0, 500, NOW), (500, SLICES, 0)), NOW)
    compared = made(VerifyOptions(percent=5), history(9, coverage=before))
    compared.with_slices([PAIR])
    slices, repaired = found.pop("slices", set()), found.pop("repaired", 0)
    compared.conclude([replace(judged(**found), slices=slices, repaired=repaired)])
    (record,) = kept.coverage[0].values()
    assert record.differing == due
    assert compared.options.sample.slices == 500
    (pair,) = made(VerifyOptions(percent=5), history(10, coverage=record), day=11).with_slices([PAIR])
    assert pair.slices == ((*due, (1_000, 1_500)) if due[-1:] != ((500, 1_000),) else ((500, 1_500),))


def test_a_difference_without_a_key_keeps_a_share_due_and_not_more_with_each_comparison(kept: Kept) -> None:
    """The first comparison adds its share to a slice with a known difference; the shares of later ones still move on."""
    record = CoverageRecord(((0, SLICES, NOW),), NOW, ((9_000, 9_001),))
    for day, share in enumerate([(0, 500), (500, 1_000), (1_000, 1_500), (1_500, 2_000)], 10):
        compared = made(VerifyOptions(percent=5), history(day - 1, coverage=record), day=day)
        (pair,) = compared.with_slices([PAIR])
        assert {*range(*share)} <= {number for first, end in pair.slices for number in range(first, end)}
        compared.conclude([replace(judged(missing=2, keyless=1), slices={4_000})])
        (record,) = kept.coverage[-1].values()
        assert record.differing == ((0, 500), (4_000, 4_001), (9_000, 9_001))


def test_all_keys_are_compared_without_a_share(kept: Kept) -> None:
    whole = made(VerifyOptions())
    assert [pair.slices for pair in whole.with_slices([PAIR])] == [ALL]
    result = whole.conclude([judged()])
    assert (result.sample, result.oldest_ms) == (100, NOW + 10 * DAY)
    assert whole.conclude([]).sample == 100


def test_a_coverage_of_another_form_begins_anew(caplog: pytest.LogCaptureFixture) -> None:
    before = CoverageRecord(((0, 500, NOW),), NOW)
    (pair,) = made(VerifyOptions(percent=5), history(9, coverage=before)).with_slices([PAIR])
    assert pair.slices == ((0, 500),)
    assert "coverage of cache x begins anew" in caplog.text


def test_the_result_is_kept_with_its_counts(kept: Kept) -> None:
    compared = made(VerifyOptions(), history(*range(3)))
    compared.with_slices([PAIR])
    compared.conclude([judged(missing=1, different=2, skipped=4, changing=5), Judged(PairDifferences("y", "t-y", unexpected=3), 3)])
    (one,) = kept.past
    assert (one.caches, one.entries, one.records, one.missing, one.different, one.unexpected) == (2, 9, 8, 1, 2, 3)
    assert (one.skipped, one.changing, one.repaired, one.equal, one.percent) == (4, 5, 3, False, 100)
    assert one.id.startswith("verify-")
    assert kept.forgotten == ["v0", "v1", "v2", one.id]


def test_differences_and_a_share_that_is_too_small_are_events(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    compared = made(VerifyOptions(percent=5, within_ms=7 * DAY), history(9))
    compared.with_slices([PAIR])
    result = compared.conclude([judged(missing=2), judged()])
    assert result.gap == "cache x: 5.00% every 1 d compares all keys in 20 d"
    assert kept.past[0].gap == result.gap
    assert kept.events == [events.NOT_ALL_COMPARED.id, events.DIFFERENCES_FOUND.id]
    assert "found 2 keys that differ between topics and caches: x" in caplog.text
    assert "not all keys of connector c are compared within 7 d: cache x: 5.00%" in caplog.text


def test_what_was_repaired_is_no_event(kept: Kept) -> None:
    compared = made(VerifyOptions(repair=True))
    assert compared.conclude([replace(judged(missing=2), repaired=2)]).equal
    assert kept.events == []


@pytest.mark.parametrize("within", [0, DAY])
def test_a_history_that_cannot_be_kept_ends_only_a_comparison_with_a_named_time(
    within: int, kept: Kept, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: Any) -> ComparisonHistory:
        raise KafkaUnavailable("no broker answers")

    kept.refusal = KafkaUnavailable("no broker answers")
    monkeypatch.setattr(memory, "read_history", refuse)
    options = VerifyOptions(within_ms=within)
    if within:
        with pytest.raises(KafkaUnavailable):
            ComparisonMemory.read(SETTINGS, KafkaClients({}), options)
        with pytest.raises(KafkaUnavailable):
            made(options).conclude([judged()])
        return
    read = ComparisonMemory.read(SETTINGS, KafkaClients({}), options)
    read.with_slices([PAIR])
    assert read.conclude([judged()]).equal
    assert "history of comparisons cannot be read" in caplog.text
    assert "is not in the history" in caplog.text


def test_a_repair_of_too_many_differences_says_so() -> None:
    assert VerifyResult([judged(missing=2, different=1)], 100, repair_at_most=2).repair_refusal.startswith("nothing was repaired: 3 keys")
    assert VerifyResult([judged(missing=2)], 100, repair_at_most=2).repair_refusal == ""
    assert VerifyResult([judged(missing=2)], 100).repair_refusal == ""
