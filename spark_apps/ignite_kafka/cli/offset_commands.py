"""Commands that show or change offsets and backlogs of connectors."""

from __future__ import annotations

from ..errors import SettingsError
from . import render
from .arguments import CommandArguments
from .command_settings import secrets_of, settings_of


def show_offsets(arguments: CommandArguments) -> int:
    """Show offsets as a table by cache, or with --json as a line for each cache partition."""
    from .views import offset_lines, offsets_table

    settings = settings_of(arguments)
    secrets = secrets_of(arguments)
    if arguments.json:
        for line in offset_lines(settings, secrets):
            print(line)
    else:
        print(offsets_table(settings, secrets))
    return 0


def alter_offsets(arguments: CommandArguments) -> int:
    """Set the highest update counter of a cache partition that counts as sent."""
    from ..admin.offsets import alter

    unit = arguments.cache, arguments.partition, arguments.sent
    changed = alter(settings_of(arguments), secrets_of(arguments), *unit, force=arguments.force)
    return render.show(arguments, changed, render.altered_offset)


def reset_offsets(arguments: CommandArguments) -> int:
    """Remove offsets of a source, or set offsets of a sink."""
    from ..admin.offsets import reset

    if arguments.to is not None or arguments.topic is not None:
        return _move_offsets(arguments)
    if arguments.partition is not None and arguments.cache is None:
        raise SettingsError("a partition is given without its cache", "Give --cache too", partition=arguments.partition)
    done = reset(
        settings_of(arguments), secrets_of(arguments), arguments.cache, arguments.partition, force=arguments.force
    )
    return render.show(arguments, done, render.reset_offsets)


def _move_offsets(arguments: CommandArguments) -> int:
    from ..admin.sink_offsets import move

    if arguments.cache is not None:
        raise SettingsError(
            "--cache is of a source, --topic and --to are of a sink",
            "Leave out one or the other.",
            cache=arguments.cache,
        )
    if arguments.to is None:
        raise SettingsError(
            "a topic is given without a place",
            "Give --to: earliest, latest, a time or an offset.",
            topic=arguments.topic,
        )
    where = arguments.to, arguments.topic, arguments.partition
    moved = move(settings_of(arguments), secrets_of(arguments), *where, force=arguments.force)
    return render.show(arguments, moved, render.moved_offsets)


def resend(arguments: CommandArguments) -> int:
    """Mark cache partitions to be sent again."""
    from ..admin import backlog

    marked = backlog.resend(settings_of(arguments), secrets_of(arguments), arguments.cache, arguments.partition)
    return render.show(arguments, marked, render.resend)


def backlog_status(arguments: CommandArguments) -> int:
    """Show a connector's backlog."""
    from ..admin import backlog

    return render.show(arguments, backlog.status(settings_of(arguments), secrets_of(arguments)), render.backlog)


def backlog_cleanup(arguments: CommandArguments) -> int:
    """Remove a connector's capture and backlog from the nodes."""
    from ..admin import backlog

    removed = backlog.cleanup(settings_of(arguments), secrets_of(arguments), force=arguments.force)
    return render.show(arguments, removed, render.cleaned)
