"""Rows of the table of commands, and the command line that click makes of them.

The body of a command is imported when the command runs, so that help, completion and errors of arguments come at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click

from .arguments import PROGRAM, CommandArguments

_WIDTH = 100  # columns of help on a wider terminal
Body = Callable[[CommandArguments], int]


class Positional(click.Argument):
    """Argument with a description in the help, which click before 8.5 has for options only."""

    def __init__(self, name: str, metavar: str, description: str, **attributes: Any) -> None:
        super().__init__([name], metavar=metavar, **attributes)
        self.description = description

    def make_metavar(self, *_: object) -> str:
        """Return the argument's name in the usage line."""
        shown = f"{self.metavar}..." if self.nargs == -1 else str(self.metavar)
        return shown if self.required else f"[{shown}]"


@dataclass(frozen=True)
class CommandRow:
    """A command of ``ignite-kafka``.

    :param path: words of the command, such as ``offsets show``.
    :param body: module of :mod:`ignite_kafka.cli` and function, such as ``verify.verify``; it returns the exit code.
    :param help: one sentence, without a full stop.
    :param examples: command lines without the program's name.
    :param parameters: own arguments and options.
    :param groups: names of :data:`~ignite_kafka.cli.options.GROUPS`.
    :param output: description of stdout with ``--json``; its schema is the function of
        :mod:`~ignite_kafka.cli.output_schemas` named like the path.
    :param continues: whether an interrupted command may have written, and its repetition continues it; or the name of
        the option with which it writes.
    :param notes: paragraphs below the help, such as exit codes.
    """

    path: str
    body: str
    help: str
    examples: tuple[str, str]
    parameters: tuple[click.Parameter, ...] = ()
    groups: tuple[str, ...] = ()
    output: str = "the result"
    continues: bool | str = False
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Last word of the path."""
        return self.path.rpartition(" ")[2]

    def load_body(self) -> Body:
        """Import the command's function."""
        module, _, function = self.body.rpartition(".")
        body: Body = getattr(import_module(f".{module}", __package__), function)
        return body


@dataclass(frozen=True)
class Call:
    """A parsed command line: the command and the values of its arguments."""

    row: CommandRow
    arguments: CommandArguments

    @property
    def may_have_written(self) -> bool:
        """Whether the command, when interrupted, may have written records or entries."""
        continues = self.row.continues
        return bool(getattr(self.arguments, continues)) if isinstance(continues, str) else continues


class TableCommand(click.Command):
    """Command of a row, with one page of help; its invocation returns a :class:`Call` and runs nothing."""

    def __init__(self, row: CommandRow, groups: Mapping[str, tuple[click.Parameter, ...]]) -> None:
        shared = [parameter for group in row.groups for parameter in groups[group]]
        positionals = [parameter for parameter in (*shared, *row.parameters) if isinstance(parameter, Positional)]
        options = [parameter for parameter in (*row.parameters, *shared) if isinstance(parameter, click.Option)]
        super().__init__(
            row.name,
            help=row.help,
            short_help=row.help,
            params=[*positionals, *options, click.Option(["--json"], is_flag=True, help="print JSON")],
            callback=self._call,
            context_settings=_CONTEXT,
        )
        self.row = row

    def _call(self, **values: Any) -> Call:
        quiet = click.get_current_context().find_root().params["quiet"]
        return Call(self.row, CommandArguments(**values, quiet=quiet))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write arguments, options, examples and notes."""
        positionals = [parameter for parameter in self.get_params(ctx) if isinstance(parameter, Positional)]
        if positionals:
            with formatter.section("Arguments"):
                formatter.write_dl([(str(parameter.metavar), parameter.description) for parameter in positionals])
        super().format_options(ctx, formatter)
        with formatter.section("Examples"):
            for example in self.row.examples:
                formatter.write(f"  {PROGRAM} {example}\n")
        for note in (*self.row.notes, f"--json prints {self.row.output}; schema: {PROGRAM} schema {self.row.path}"):
            formatter.write_paragraph()
            formatter.write_text(note)


class TableGroup(click.Group):
    """Group of commands in the order of the table; a command may have words of a longer path as its actions."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table; for a shell, which completes word by word, the single words."""
        return [name for name in self.commands if not (ctx.resilient_parsing and " " in name)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of the first words; suggest a name for a word that is no command.

        :raises click.UsageError: there is no such command.
        """
        two = " ".join(args[:2])
        if two in self.commands:
            return two, self.commands[two], args[2:]
        if args and args[0] not in self.commands and not args[0].startswith("-") and not ctx.resilient_parsing:
            from ..settings.suggestions import did_you_mean

            ctx.fail(f"No such command {args[0]!r}. {did_you_mean(args[0], list(self.commands))}".rstrip())
        return super().resolve_command(ctx, args)


_CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": _WIDTH}


def make_program(
    rows: Iterable[CommandRow],
    groups: Mapping[str, tuple[click.Parameter, ...]],
    group_help: Mapping[str, str],
    options: Iterable[click.Option],
) -> TableGroup:
    """Return the program of all rows.

    :param group_help: help of the first words of paths that are no commands themselves, such as ``offsets``.
    :param options: options before the command.
    """
    program = TableGroup(
        PROGRAM,
        help="Copy data between Apache Ignite caches and Kafka topics.",
        params=list(options),
        context_settings=_CONTEXT,
        no_args_is_help=False,
    )
    for row in rows:
        first = row.path.partition(" ")[0]
        if first not in group_help:
            program.add_command(TableCommand(row, groups), row.path)
            continue
        group = program.commands.setdefault(
            first,
            TableGroup(
                first,
                help=group_help[first],
                short_help=group_help[first],
                no_args_is_help=False,
                context_settings=_CONTEXT,
            ),
        )
        if isinstance(group, TableGroup):
            group.add_command(TableCommand(row, groups))
    return program
