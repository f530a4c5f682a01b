"""Page of the command line, and the schemas of its JSON, generated from the table of commands."""

from __future__ import annotations

import json
import textwrap

import click

from ignite_kafka.cli.arguments import PROGRAM
from ignite_kafka.cli.command_table import CommandRow, Positional
from ignite_kafka.cli.commands import COMMANDS, program
from ignite_kafka.cli.output_schemas import DIALECT, SCHEMAS

_WIDTH = 119  # columns, and the full stop
_HEAD = """# Command line

`ignite-kafka COMMAND --help` prints what this page has of a command. Before the command, `--quiet` logs warnings and
errors only, and `--version` prints the versions of the library and of what it uses. For how to use the commands, see
[operations](operations.md).

## Output

Results are on stdout, logs and errors on stderr. With `--json` stdout has JSON only, indented unless it is said to be
lines; its schemas are in [commands.schema.json](commands.schema.json), under `$defs` and the words of the command, and
printed by `ignite-kafka schema COMMAND`. Later versions may add members to objects. A command that fails prints its
error as the last line on stderr, with `--json` as one line of JSON (`ignite-kafka schema error`).

On a terminal, `run`, `verify`, `replicate` and `status --watch` show what they do in place, with rate and time left.
Without a terminal, with `TERM=dumb` or `--quiet` they print plain lines or nothing. `NO_COLOR` turns colors off.

| exit code | meaning |
|---|---|
| 0 | success |
| 1 | failure |
| 2 | wrong settings or arguments |
| 3 | a newer run, a repair or a change of offsets has taken over |
| 4 | the outcome is unknown |
| 5 | `verify` found differences |
| 130 | interrupted by Ctrl-C: what was committed stays, and the last line on stderr has the command that continues |

## Completion

`ignite-kafka completion bash`, `zsh` or `fish` prints a script that completes commands, options and files, and with
`--kafka` or `--settings` before it the names of connectors. See `ignite-kafka completion --help`.
"""


def page() -> str:
    """Return the whole page."""
    return _HEAD + "".join(map(_format_command, COMMANDS))


def schemas() -> str:
    """Return the JSON Schemas of all commands, by the command's words."""
    definitions = {path: make() for path, make in SCHEMAS.items()}
    return (
        json.dumps({"$schema": DIALECT, "title": f"Output of {PROGRAM} with --json", "$defs": definitions}, indent=1)
        + "\n"
    )


def _format_command(row: CommandRow) -> str:
    parameters = _parameters_of(row)
    names = "".join(f" {_usage(parameter)}" for parameter in parameters if isinstance(parameter, Positional))
    rows = "".join(f"| {cell(_names(parameter))} | {cell(_describe(parameter))} |\n" for parameter in parameters)
    examples = "\n".join(f"{PROGRAM} {example}" for example in row.examples)
    notes = "".join(f"\n{_wrap(note)}\n" for note in row.notes)
    return (
        f"\n## {row.path}\n{_wrap(row.help[0].upper() + row.help[1:])}.\n\n"
        f"```text\n{PROGRAM} {row.path}{names} [OPTION...]\n```\n\nExamples:\n\n```sh\n{examples}\n```\n\n"
        f"| argument | meaning |\n|---|---|\n{rows}{notes}\n{_wrap(f'`--json` prints {row.output}.')}\n"
    )


def _wrap(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_on_hyphens=False)


def _parameters_of(row: CommandRow) -> list[click.Parameter]:
    command: click.Command = program()
    for word in row.path.split():
        assert isinstance(command, click.Group)
        command = command.commands.get(row.path) or command.commands[word]
        if not isinstance(command, click.Group):
            break
    return list(command.params)


def _usage(parameter: Positional) -> str:
    shown = f"{parameter.metavar}..." if parameter.nargs == -1 else str(parameter.metavar)
    return shown if parameter.required else f"[{shown}]"


def _names(parameter: click.Parameter) -> str:
    value = "" if isinstance(parameter, click.Option) and parameter.is_flag else f" {parameter.metavar}"
    return f"`{parameter.metavar}`" if isinstance(parameter, Positional) else f"`{parameter.opts[0]}{value}`"


def _describe(parameter: click.Parameter) -> str:
    text = parameter.description if isinstance(parameter, Positional) else str(getattr(parameter, "help", ""))
    required = isinstance(parameter, click.Option) and parameter.required
    more = "; required" if required else "; may be repeated" if parameter.multiple else ""
    return f"{text}{more}"


def cell(text: str) -> str:
    """Return a text for a cell of a table."""
    return text.replace("|", "\\|")
