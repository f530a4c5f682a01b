"""Parsing of command-line arguments."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from ..errors import SettingsError
from ..runtime import logs
from ..settings.connect.config_providers import AllowedProvider, parse_allowed

_PROVIDER = "--allow-config-provider"


class Parser(argparse.ArgumentParser):
    """Parser that reports errors as JSON if the arguments contain ``--json``."""

    argv: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments, and keep them for :meth:`error`."""
        self.argv = sys.argv[1:] if args is None else args
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Report wrong arguments and exit with code 2."""
        if "--json" not in self.argv:
            super().error(message)
        logs.show_error(SettingsError(message, f"See {self.prog} --help"), as_json=True)
        self.exit(SettingsError.exit_code)


def add_allowed_providers(added: argparse.ArgumentParser) -> None:
    """Add the argument that lets config providers in settings files read files and variables of this host."""
    added.add_argument(
        _PROVIDER, action="append", default=[], metavar="CLASS=LIMIT",
        help="let config providers of settings files read: FileConfigProvider=PATHS, DirectoryConfigProvider=PATHS, or "
        "EnvVarConfigProvider=EXPRESSION of variables",
    )  # fmt: skip


def allowed_providers(arguments: argparse.Namespace) -> tuple[AllowedProvider, ...]:
    """Return the permissions given to config providers in settings files.

    :raises SettingsError: see :func:`.config_providers.parse_allowed`.
    """
    return parse_allowed(arguments.allow_config_provider, _PROVIDER)


def provider_arguments(arguments: argparse.Namespace) -> tuple[str, ...]:
    """Return the command's arguments about config providers, for another process of this command."""
    return tuple(part for provider in arguments.allow_config_provider for part in (_PROVIDER, provider))


def whole(text: str) -> int:
    """Parse a whole number of at least 0."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    return number


def command_after_interrupt(argv: Sequence[str]) -> str:
    """Return the remedy for an interrupted run: the command to continue, without the old run id."""
    return f"What was committed stays. To continue: {shlex.join(['ignite-kafka', *_drop_run_id(argv)])}"


def _drop_run_id(argv: Sequence[str]) -> Iterator[str]:
    left = iter(argv)
    for argument in left:
        if argument == "--run-id":
            next(left)
        elif not argument.startswith("--run-id="):
            yield argument
