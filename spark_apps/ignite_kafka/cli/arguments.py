"""Values of a command's arguments, and arguments of further processes and of the next call."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from types import SimpleNamespace

from ..settings.connect.config_providers import AllowedProvider, parse_allowed

PROGRAM = "ignite-kafka"
"""Name of the command."""
PROVIDER = "--allow-config-provider"


class CommandArguments(SimpleNamespace):
    """Values of a command's arguments and options by name, such as ``internal_topic_prefix``.

    An argument that the command lacks is no attribute. Those that may be repeated are tuples.
    """


def allowed_providers(arguments: CommandArguments) -> tuple[AllowedProvider, ...]:
    """Return the permissions given to config providers in settings files.

    :raises SettingsError: see :func:`.config_providers.parse_allowed`.
    """
    return parse_allowed(arguments.allow_config_provider, PROVIDER)


def provider_arguments(arguments: CommandArguments) -> tuple[str, ...]:
    """Return the command's arguments about config providers, for another process of this command."""
    return tuple(part for provider in arguments.allow_config_provider for part in (PROVIDER, provider))


def command_after_interrupt(argv: Sequence[str]) -> str:
    """Return the remedy for an interrupted run: the command to continue, without the old run id."""
    return f"What was committed stays. To continue: {shlex.join([PROGRAM, *_drop_run_id(argv)])}"


def _drop_run_id(argv: Sequence[str]) -> Iterator[str]:
    left = iter(argv)
    for argument in left:
        if argument == "--run-id":
            next(left)
        elif not argument.startswith("--run-id="):
            yield argument
