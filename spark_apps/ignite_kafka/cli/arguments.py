"""Parsing of command-line arguments."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from ..errors import SettingsError
from ..runtime import logs


class Parser(argparse.ArgumentParser):
    """A parser that reports errors as JSON if the arguments contain ``--json``."""

    given: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, and keep the arguments for :meth:`error`."""
        self.given = sys.argv[1:] if args is None else args
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Report wrong arguments and exit with code 2."""
        if "--json" not in self.given:
            super().error(message)
        logs.show_error(SettingsError(message, f"See {self.prog} --help"), as_json=True)
        self.exit(SettingsError.exit_code)


def whole(text: str) -> int:
    """Parse a whole number that is not negative."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    return number


def command_after_interrupt(given: Sequence[str]) -> str:
    """Remedy after a Ctrl-C of a run: the command that continues it, with a new run id."""
    return f"What was committed stays. To continue: {shlex.join(['ignite-kafka', *_without_run_id(given)])}"


def _without_run_id(given: Sequence[str]) -> Iterator[str]:
    left = iter(given)
    for argument in left:
        if argument == "--run-id":
            next(left)
        elif not argument.startswith("--run-id="):
            yield argument
