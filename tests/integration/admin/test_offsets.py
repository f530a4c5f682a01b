"""Offsets shown, altered and reset by the command line on real servers, beside a run that is held here."""

from __future__ import annotations

from typing import Any

import pytest

from ignite_kafka.admin import offsets as offset_changes
from ignite_kafka.admin.target_state import newest_run
from ignite_kafka.errors import Fenced, KafkaUnavailable
from ignite_kafka.kafka.topics import read_to_end
from ignite_kafka.plan.slots import slot_of
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.state.internal_names import offsets_topic
from tests.support.connector_run import PARTITIONS, SLOTS, CommandLine, Run


def test_offsets_are_altered_and_reset_while_nothing_runs(run: Run, command: CommandLine) -> None:
    run.begin()
    run.send("trades")
    run.send("quotes")
    run.end()
    assert command("offsets", "show", "conn") == 0
    assert "quotes  s         7                    16       80              16  100 … 115" in command.out
    assert command("offsets", "alter", "conn", "--cache", "trades", "--partition", "3", "--sent", "50") == 0
    assert command.out == "cache trades, partition 3: numbers sent were 0 to 103, are 0 to 50\n"
    expected = {partition: [[0, 100 + partition]] for partition in range(PARTITIONS)}
    assert command.ranges("conn", "trades") == {**expected, 3: [[0, 50]]}
    assert command.out.count("recent") == 2 * PARTITIONS - 1, "what was sent last counts no more, too"
    assert command("offsets", "reset", "conn", "--cache", "trades", "--partition", "5") == 0
    left = {partition: ranges for partition, ranges in {**expected, 3: [[0, 50]]}.items() if partition != 5}
    assert command.ranges("conn", "trades") == left
    assert command.json("offsets", "reset", "conn", "--cache", "trades") == {"units": {"trades": 15}}
    assert command.ranges("conn", "trades") == {}
    assert command.ranges("conn", "quotes") == expected
    assert command.json("offsets", "reset", "conn") == {"units": {"quotes": 16}}
    assert command.json("offsets", "reset", "conn") == {"units": {}}, "repeatable"
    messages = read_to_end(run.clients, run.topics, offsets_topic(run.prefix, "conn"), list(range(SLOTS)))
    assert sum(message.value() is None for message in messages) == 2 * PARTITIONS
    slot = run.begin("r2").slot(0)
    assert slot.state.units == {}, "the next run takes them for never sent"
    slot.close()
    run.end()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("alter", "conn", "--cache", "trades", "--partition", "99", "--sent", "1"), "cache trades, partition 99"),
        (("alter", "conn", "--cache", "trade", "--partition", "1", "--sent", "1"), "Did you mean trades?"),
        (("reset", "conn", "--cache", "trade"), "Did you mean trades?"),
        (("reset", "conn", "--cache", "trades", "--partition", "99"), "cache trades, partition 99"),
        (("reset", "conn", "--partition", "1"), "Give --cache too"),
        (("reset", "nobody"), "Known are conn"),
    ],
)
def test_offsets_that_are_not_there_are_not_changed(arguments: tuple[str, ...], told: str, run: Run, command: CommandLine) -> None:
    run.begin()
    run.send("trades")
    run.end()
    assert command("offsets", *arguments) == 2
    assert told in command.error
    assert len(command.ranges("conn", "trades")) == PARTITIONS


def test_offsets_of_a_run_that_has_not_ended_need_force(run: Run, command: CommandLine) -> None:
    run.begin()
    run.send("trades")
    alter = ("offsets", "alter", "conn", "--cache", "trades", "--partition", "3", "--sent", "50")
    for refused in (alter, ("offsets", "reset", "conn")):
        assert command(*refused) == 1
        assert command.error.startswith("ignite-kafka: NotStopped ")
        assert "run id r1, state RUNNING" in command.error
        assert "ignite-kafka stop conn" in command.error
    number = slot_of("trades", 3, SLOTS)
    slot = run.slot(number)  # the run is alive after all
    slot.unit_done("trades", 3, "7", "s", 9)
    assert command(*alter, "--force") == 0, command.error
    with pytest.raises(KafkaUnavailable, match="was fenced"):
        slot.commit()
    slot.close()
    again = run.slot(number)
    assert again.state.units["trades", 3].high == 50, "it goes on from what was written by hand"
    assert again.state.units["trades", 3].records == 5
    again.close()
    run.end()


def test_a_run_that_starts_meanwhile_keeps_its_slots(run: Run, command: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    run.begin()
    run.send("trades")
    run.end()
    look = newest_run

    def start_after_the_look(*arguments: Any) -> Any:
        found = look(*arguments)
        run.begin("r2")
        return found

    monkeypatch.setattr(offset_changes, "newest_run", start_after_the_look)
    settings = SourceSettings(name="conn", bootstrap_servers=run.clients.bootstrap, internal_topic_prefix=run.prefix)
    with pytest.raises(Fenced, match="generation 2"):
        offset_changes.reset(settings, Secrets())
    assert len(command.ranges("conn", "trades")) == PARTITIONS
    run.end()
