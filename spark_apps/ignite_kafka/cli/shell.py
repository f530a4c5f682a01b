"""The commands `completion` and `schema`."""

from __future__ import annotations

from click.shell_completion import get_completion_class

from ..errors import SettingsError
from . import render
from .arguments import PROGRAM, CommandArguments

VARIABLE = "_IGNITE_KAFKA_COMPLETE"
"""Environment variable by which a shell's script asks the command for completions; click derives it from the name."""


def completion(arguments: CommandArguments) -> int:
    """Print the script that completes commands, options and names in a shell."""
    from .commands import program

    shell = get_completion_class(arguments.shell)
    assert shell is not None, arguments.shell
    complete = shell(program(), {}, PROGRAM, VARIABLE)
    # the template itself: click's source() starts bash to ask for its version
    script = complete.source_template % complete.source_vars()
    if arguments.json:
        render.print_json({"shell": arguments.shell, "script": script})
    else:
        print(script)
    return 0


def schema(arguments: CommandArguments) -> int:
    """Print the JSON Schema of a command's output.

    :raises SettingsError: there is no such command.
    """
    from ..settings.suggestions import did_you_mean
    from .output_schemas import SCHEMAS, output_schema

    path = " ".join(arguments.command)
    if path not in SCHEMAS:
        hint = did_you_mean(path, list(SCHEMAS))
        raise SettingsError(f"there is no command {path!r}", hint or f"See {PROGRAM} --help")
    render.print_json(output_schema(path))
    return 0
