"""Events of a connector as the command line shows them."""

from __future__ import annotations

import json

import pytest

from ignite_kafka.admin.connector_events import ConnectorEvents, parse_since
from ignite_kafka.cli import render
from ignite_kafka.common.event_log import OccurrenceReader, add_events, count_of
from ignite_kafka.errors import SettingsError

NOON = 1_764_244_800_000  # 2025-11-27T12:00:00Z
EARLY = {15120: count_of(NOON, "slot 0 restarts after its last commit: gone", {"slot": 0, "reason": "gone"})}
LATE = {15120: count_of(NOON + 5_250, "slot 1 restarts after its last commit: gone", {"slot": 1, "reason": "gone"})}
OTHER = {15060: count_of(NOON + 1_000, "connected to Ignite at h:1", {"address": "h:1"})}
ALL = add_events(EARLY, LATE, OTHER)


def test_the_last_event_is_the_first_row_and_remedies_follow() -> None:
    lines = render.events(ConnectorEvents("c", ALL)).splitlines()
    assert lines[0].split() == ["last", "severity", "id", "count", "newest", "text"]
    assert lines[2].split()[:4] == ["2025-11-27T12:00:05.250Z", "WARNING", "15120", "2"]
    assert lines[2].endswith("slot 1 restarts after its last commit: gone")
    assert lines[3].split()[:4] == ["2025-11-27T12:00:01.000Z", "INFO", "15060", "1"]
    assert lines[4:] == ["", "15120: A broker or node did not answer, or an executor was lost. None, unless it repeats."]


def test_json_has_every_kept_text_the_newest_first() -> None:
    shown = json.loads(json.dumps(ConnectorEvents("c", ALL).to_dict()))
    first = shown["events"][0]
    assert (first["id"], first["severity"], first["count"]) == (15120, "WARNING", 2)
    assert (first["first"], first["last"]) == ("2025-11-27T12:00:00.000Z", "2025-11-27T12:00:05.250Z")
    assert [occurrence["fields"]["slot"] for occurrence in first["newest"]] == ["1", "0"]


def test_since_leaves_out_events_and_texts_of_before() -> None:
    ((id, count),) = ConnectorEvents("c", ALL, NOON + 2_000).in_order()
    assert (id, count.count, [occurrence.fields["slot"] for occurrence in count.newest]) == (15120, 2, ["1"])
    assert render.events(ConnectorEvents("c", ALL, NOON + 10_000)) == "connector c has no events"


def test_followers_get_each_occurrence_once_in_order() -> None:
    lines = [render.event_line(*added, as_json=False) for added in OccurrenceReader().added(ALL)]
    assert lines == [
        "2025-11-27T12:00:00.000Z WARNING 15120 # slot 0 restarts after its last commit: gone",
        "2025-11-27T12:00:01.000Z INFO 15060 # connected to Ignite at h:1",
        "2025-11-27T12:00:05.250Z WARNING 15120 # slot 1 restarts after its last commit: gone",
    ]
    assert [id for id, _ in OccurrenceReader(add_events(EARLY, OTHER)).added(ALL)] == [15120]
    assert OccurrenceReader(ALL).added(ALL) == []


def test_a_text_of_a_record_is_one_line_that_no_terminal_obeys() -> None:
    """Whoever may write to the status topic chooses the text."""
    hostile = ConnectorEvents("c", {15120: count_of(NOON, "one\ntwo\x1b]0;title\x07\u202ethree\x9b2J", {})})
    ((id, count),) = hostile.in_order()
    for shown in (render.events(hostile).splitlines()[2], render.event_line(id, count.newest[0], as_json=False)):
        assert shown.endswith("one two ]0;title  three 2J")
    assert len(render.events(hostile).splitlines()) == 5


def test_an_event_of_another_version_is_shown_without_a_severity() -> None:
    shown = ConnectorEvents("c", {99999: count_of(NOON, "new", {})})
    assert "99999" in render.events(shown)


@pytest.mark.parametrize(
    ("text", "at"),
    [("2025-11-27T12:00:00Z", NOON), ("2025-11-27T12:00", NOON), ("2025-11-27T13:00+01:00", NOON), ("2025-11-27", NOON - 43_200_000)],
)
def test_since_is_in_utc_unless_it_has_an_offset(text: str, at: int) -> None:
    assert parse_since(text) == at


def test_no_time_is_refused() -> None:
    assert parse_since(None) == 0
    with pytest.raises(SettingsError, match="'yesterday' is no time"):
        parse_since("yesterday")
