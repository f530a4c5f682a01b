"""Rows of the table of commands, for shells and scripts: completion and schemas."""

from __future__ import annotations

import click

from .command_table import CommandRow, Positional

SHELLS = ("bash", "zsh", "fish")

ROWS = (
    CommandRow(
        "completion",
        "shell.completion",
        "print the script that completes commands, options, files and names of connectors in a shell",
        ("completion bash", "completion fish --json"),
        (Positional("shell", "SHELL", f"one of {', '.join(SHELLS)}", type=click.Choice(SHELLS)),),
        output="the script as a text",
        notes=(
            'bash 4.4 or newer, in ~/.bashrc: eval "$(ignite-kafka completion bash)"',
            'zsh, in ~/.zshrc after compinit: eval "$(ignite-kafka completion zsh)"',
            "fish, in ~/.config/fish/config.fish: ignite-kafka completion fish | source",
        ),
    ),
    CommandRow(
        "schema",
        "shell.schema",
        "print the JSON Schema of what a command prints with --json",
        ("schema status", "schema offsets reset"),
        (
            Positional(
                "command",
                "COMMAND",
                "words of the command; error: of the last line on stderr after a failure",
                nargs=-1,
                required=True,
            ),
        ),
        output="the schema, as without it",
    ),
)
"""Commands, in the order of the help."""
