"""The commands of role transitions: arguments that are refused, the files of the reverse pair, and their texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ignite_kafka.cli import main as cli
from ignite_kafka.cli.replicate import load_settings_of_both
from ignite_kafka.cli.role_transitions import _text, _unsent_text, write_reverse
from ignite_kafka.errors import SettingsError
from ignite_kafka.role_transitions.failback import UnsentChanges, UnsentReport
from ignite_kafka.role_transitions.pair import Member, Pair
from ignite_kafka.role_transitions.steps import TransitionResult
from ignite_kafka.settings.secrets import Secrets
from ignite_kafka.state.role_transitions import DONE, RoleTransition

PAIR = """run_mode=continuous
topic_prefix=staff-
source.name=a
source.ignite_addresses=a1:10800
source.cache_whitelist=staff
source.process_removals=true
source.failover_policy=BACKLOG
sink.name=b
sink.ignite_addresses=b1:10800
sink.topics_regex=staff-.*
sink.process_updates=true
"""


def pair_of(folder: Path) -> Pair:
    (folder / "pair.properties").write_text(PAIR)
    source, sink = load_settings_of_both(folder / "pair.properties")
    return Pair(Member(source, Secrets(), "a.json"), Member(sink, Secrets(), "b.json"))


@pytest.mark.parametrize("choices", [[], ["--report", "--drop"], ["--send", "--drop"]])
def test_a_failback_needs_one_choice(choices: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pair.properties").write_text(PAIR)
    assert cli.main(["-q", "replicate", "failback", str(tmp_path / "pair.properties"), *choices]) == 2
    assert "failback needs one choice" in capsys.readouterr().err


def test_an_abort_has_no_dry_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pair.properties").write_text(PAIR)
    assert cli.main(["-q", "replicate", "switchover", str(tmp_path / "pair.properties"), "--abort", "--dry-run"]) == 2
    assert "--abort has no dry run" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["switchover", "failover"])
def test_a_pair_without_an_inverse_is_refused_before_a_connection(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pair.properties").write_text(PAIR + "source.where=x > 1\n")
    assert cli.main(["-q", "replicate", command, str(tmp_path / "pair.properties")]) == 2
    assert "the source sets where" in capsys.readouterr().err


def test_the_files_of_the_reverse_pair_are_those_of_a_pair(tmp_path: Path) -> None:
    pair = pair_of(tmp_path)
    write_reverse(pair, tmp_path)
    source, sink = load_settings_of_both(tmp_path / "reverse-source.json", tmp_path / "reverse-sink.json")
    assert (source.name, source.ignite_addresses, sink.name, sink.ignite_addresses) == (
        "reverse-a",
        ("b1:10800",),
        "reverse-b",
        ("a1:10800",),
    )
    assert (pair.reverse.source.secrets_file, pair.reverse.sink.secrets_file) == ("b.json", "a.json")
    again = Pair(Member(source, Secrets()), Member(sink, Secrets())).reverse
    assert (again.source.settings, again.sink.name) == (pair.source.settings, "b")
    with pytest.raises(SettingsError, match="Name an existing folder with --output"):
        write_reverse(pair, tmp_path / "absent")


def test_results_as_text() -> None:
    done = RoleTransition("t", "failover", DONE, 1, 2, {"behind": "far"})
    assert _text(TransitionResult("a", "b", done)) == 'failover of a and b: done\nbehind: "far"'
    assert "dry run, nothing is changed" in _text(TransitionResult("a", "b", done, ("x",), True))
    report = UnsentReport("a", (UnsentChanges("x", "t", 1, 2, 3, 4, ("no record of key 5",)),))
    lines = _unsent_text(report).splitlines()
    assert lines[0].split() == ["cache", "topic", "entries", "stored", "changed", "removed"]
    assert lines[-1] == "x: no record of key 5"
    shortened = UnsentReport("a", (UnsentChanges("x", "t", 1, 2, 3, 4, records_deleted=True),))
    assert _unsent_text(shortened).splitlines()[-1].startswith("x: retention may have deleted records of topic t")
    assert json.loads(json.dumps(report.to_dict()))["caches"][0]["removed"] == 3
