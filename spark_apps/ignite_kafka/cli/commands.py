"""The command line: the table of all commands, and the parsing of arguments."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from ..errors import SettingsError
from ..runtime import logs
from . import rows_of_control, rows_of_runs, rows_of_shell
from .arguments import PROGRAM
from .command_table import Call, TableGroup, make_program
from .options import GROUPS

COMMANDS = (*rows_of_runs.ROWS, *rows_of_control.ROWS, *rows_of_shell.ROWS)
"""All commands, in the order of the help."""

GROUP_HELP = {
    "offsets": "offsets of a connector",
    "dead-letters": "the dead letters of a connector",
    "backlog": "the backlog of a connector",
}
"""Help of the first words of commands with two words."""


def _show_version(ctx: click.Context, _: click.Parameter, requested: bool) -> None:
    if requested and not ctx.resilient_parsing:
        from ..common.versions import installed_versions, versions_text

        click.echo(versions_text(installed_versions()))
        ctx.exit()


def program() -> TableGroup:
    """Return the command line of all commands."""
    version = click.Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show_version,
        help="print the versions of the library and of what it uses here",
    )
    quiet = click.Option(["-q", "--quiet"], is_flag=True, help="log warnings and errors only")
    return make_program(COMMANDS, GROUPS, GROUP_HELP, (quiet, version))


def parse(words: Sequence[str]) -> Call:
    """Parse a command line.

    :raises SystemExit: after help, versions or a script for completion; with code 2 if arguments are wrong, which are
        reported on stderr, as a line of JSON if one of the words is ``--json``.
    """
    try:
        result = program().main(list(words), prog_name=PROGRAM, standalone_mode=False)
    except click.UsageError as error:
        as_json = "--json" in words
        path = error.ctx.command_path if error.ctx else PROGRAM
        if error.ctx and not as_json:
            print(error.ctx.get_usage(), file=sys.stderr)
        what, hint, suggestion = error.format_message().partition(" Did you mean")
        remedy = f"{f'{hint.strip()}{suggestion} ' if hint else ''}See {path} --help"
        logs.show_error(SettingsError(what.rstrip("."), remedy), as_json=as_json)
        raise SystemExit(SettingsError.exit_code) from None
    if not isinstance(result, Call):
        raise SystemExit(result)
    return result
