"""The table of commands: each row has its body, examples that are parsed, and one page of help."""

from __future__ import annotations

import inspect
import json
import shlex
from typing import Any

import click
import pytest

from ignite_kafka.cli.command_table import CommandRow, make_program
from ignite_kafka.cli.commands import COMMANDS, GROUP_HELP, parse
from ignite_kafka.cli.options import GROUPS
from ignite_kafka.cli.output_schemas import ERROR, SCHEMAS

rows = pytest.mark.parametrize("row", COMMANDS, ids=lambda row: row.path)


@rows
def test_each_example_is_parsed(row: CommandRow) -> None:
    assert len(set(row.examples)) == 2
    for example in row.examples:
        assert parse(shlex.split(example)).row is row, example


@rows
def test_each_body_takes_the_arguments_alone(row: CommandRow) -> None:
    assert list(inspect.signature(row.load_body()).parameters) == ["arguments"]


@rows
def test_the_help_of_a_command_is_one_page(row: CommandRow, capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--help", "-h"):
        with pytest.raises(SystemExit) as ended:
            parse([*row.path.split(), option])
        assert ended.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith(f"Usage: ignite-kafka {row.path} ")
    for example in row.examples:
        assert f"\n  ignite-kafka {example}\n" in text
    words = " ".join(text.split())
    for part in (row.help, *row.notes):
        assert part.split()[0] in words
    assert len(text.splitlines()) < 2 * 80


def test_each_command_has_a_schema() -> None:
    assert sorted(SCHEMAS) == sorted([ERROR, *(row.path for row in COMMANDS)])


def test_the_help_has_each_command_in_the_order_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(["--help"])
    text = capsys.readouterr().out.partition("Commands:")[2]
    listed = [line.split()[0] for line in text.splitlines() if line.startswith("  ") and not line.startswith("    ")]
    assert list(dict.fromkeys(listed)) == list(dict.fromkeys(row.path.partition(" ")[0] for row in COMMANDS))
    for group, help in GROUP_HELP.items():
        assert f"  {group} " in text
        assert help in text


def test_a_command_with_arguments_may_have_actions_too() -> None:
    rows = [CommandRow(path, "verify.text_of", "help", ("x", "y"), groups=("file",)) for path in ("verify", "verify history")]
    program = make_program(rows, GROUPS, {}, [click.Option(["--quiet"], is_flag=True)])
    calls = [program.main(words.split(), standalone_mode=False) for words in ("verify f", "verify history f")]
    assert [(call.row.path, call.arguments.file) for call in calls] == [
        ("verify", "f"),
        ("verify history", "f"),
    ]


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("run f a b", {"file": "f", "connectors": ("a", "b"), "master": None, "allow_config_provider": (), "quiet": False}),
        ("-q run f --allow-config-provider=A=x --allow-config-provider B=y", {"allow_config_provider": ("A=x", "B=y"), "quiet": True}),
        ("verify --name c --sample 2.5%", {"file": None, "name": "c", "sample": 2.5, "differences": 5, "repair": False}),
        ("status c --settings f", {"name": "c", "file": "f", "json": False}),
        ("stop c", {"wait_ms": 60_000}),
        ("resend cache 7 --json", {"cache": "cache", "partition": 7, "name": None, "json": True}),
        ("offsets alter c --cache x --partition 1 --sent 3", {"partition": 1, "sent": 3, "force": False}),
    ],
)
def test_values_of_arguments(line: str, values: dict[str, Any]) -> None:
    arguments = vars(parse(line.split()).arguments)
    assert {name: arguments[name] for name in values} == values


@pytest.mark.parametrize(
    ("line", "what", "remedy"),
    [
        ("stop1 c", "No such command 'stop1'", "Did you mean stop? See ignite-kafka --help"),
        ("offsets rest c", "No such command 'rest'", "Did you mean reset? See ignite-kafka offsets --help"),
        ("pause", "Missing argument 'NAME'", "See ignite-kafka pause --help"),
        ("verify f --sample 0", "0.0 is not in the range", "See ignite-kafka verify --help"),
        ("verify f --sample 101%", "101.0 is not in the range", "See ignite-kafka verify --help"),
        ("resend c seven", "'seven' is not a valid integer range", "See ignite-kafka resend --help"),
        ("", "Missing command", "See ignite-kafka --help"),
    ],
)
def test_wrong_arguments_say_what_is_wrong_and_where_the_help_is(
    line: str, what: str, remedy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for json_option in ([], ["--json"]):
        with pytest.raises(SystemExit) as ended:
            parse([*line.split(), *json_option] if line else [])
        assert ended.value.code == 2
        shown = capsys.readouterr()
        assert shown.out == ""
        *usage, last = shown.err.splitlines()
        if json_option and line:
            assert usage == []
            error = json.loads(last)["error"]
            assert (what in error["what"], error["remedy"]) == (True, remedy)
        else:
            assert [text.split()[:2] for text in usage] == [["Usage:", "ignite-kafka"]]
            assert last.startswith("ignite-kafka: SettingsError ")
            assert what in last
            assert last.endswith(remedy)


@pytest.mark.parametrize(
    ("line", "written"),
    [("run f", True), ("verify f", False), ("verify f --repair", True), ("plan f", False), ("stop c", True), ("status c", False)],
)
def test_which_commands_may_have_written(line: str, written: bool) -> None:
    assert parse(line.split()).may_have_written == written
