"""Dead letters as text."""

from __future__ import annotations

from ignite_kafka.admin.dead_letters import DeadLetterList, DeadLetterRow, Replay
from ignite_kafka.cli.dead_letters import list_text, replay_text

ROW = DeadLetterRow(1, 42, 0, "TASK_PUT", "a.B", "it is\x1b[31m red", {"topic": "t", "partition": "0", "offset": "7"})


def test_a_list_has_the_place_and_the_reason_of_each() -> None:
    lines = list_text(DeadLetterList("c", "dead", (ROW,))).splitlines()
    assert lines[0] == "dead letters of connector c in topic dead"
    assert lines[-1].split("  ")[-1] == "1/42"
    assert "topic t, partition 0, offset 7" in lines[-1]
    assert "a.B: it is [31m red" in lines[-1]


def test_a_connector_without_letters_says_so() -> None:
    assert list_text(DeadLetterList("c", "dead")) == "dead letters of connector c in topic dead: none"
    assert list_text(DeadLetterList("c", "")) == "connector c has no dead-letter topic"


def test_a_replay_says_why_letters_were_left_out() -> None:
    assert replay_text(Replay("c", 1_200)) == "1,200 dead letters sent again"
    lines = replay_text(Replay("c", 0, 1, 2, 3, 4)).splitlines()
    assert [line.split(":")[0] for line in lines[1:]] == ["1 left out", "3 left out", "2 left out", "4 left out"]
