"""Commands and texts about a connector's dead letters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..common.event_log import format_time
from . import render
from .arguments import CommandArguments
from .command_settings import secrets_of, settings_of
from .tables import table

if TYPE_CHECKING:
    from ..admin.dead_letters import DeadLetterList, Replay


def show(arguments: CommandArguments) -> int:
    """Show the newest dead letters of a connector."""
    from ..admin.dead_letters import list_dead_letters

    return render.show(arguments, list_dead_letters(settings_of(arguments), secrets_of(arguments)), list_text)


def send_again(arguments: CommandArguments) -> int:
    """Send the dead letters of a sink again."""
    from ..admin.dead_letters import replay

    return render.show(arguments, replay(settings_of(arguments), secrets_of(arguments)), replay_text)


def replay_text(replay: Replay) -> str:
    """Return a line with the number of dead letters sent again, and one for each reason why others were left out."""
    left_out = (
        (replay.superseded, "a newer record of the same key exists"),
        (replay.waiting, "the connector stopped at the record and will read it again"),
        (replay.without_key, "the record has no key"),
        (replay.elsewhere, "the connector does not read the record's topic any more"),
    )
    lines = [f"{count:,} left out: {reason}" for count, reason in left_out if count]
    return "\n".join([f"{replay.sent:,} dead letters sent again", *lines])


def list_text(view: DeadLetterList) -> str:
    """Return a table of the newest dead letters."""
    if not view.topic:
        return f"connector {view.connector} has no dead-letter topic"
    title = f"dead letters of connector {view.connector} in topic {view.topic}"
    rows = [
        (
            format_time(letter.at_ms) if letter.at_ms else "",
            ", ".join(f"{name} {value}" for name, value in letter.origin.items()),
            letter.stage,
            f"{letter.exception}: {letter.message}",
            f"{letter.partition}/{letter.offset}",
        )
        for letter in view.letters
    ]
    return f"{title}\n{table(('time', 'from', 'stage', 'reason', 'dead letter'), rows)}" if rows else f"{title}: none"
