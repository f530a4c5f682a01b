"""The command `ignite-kafka`: check, plan, run, inspect and control connectors without Airflow.

Exit codes are those of :mod:`ignite_kafka.errors`: 0 success, 1 failure, 2 invalid settings or arguments, 3 fenced by a
newer run, 4 outcome unknown, 130 interrupted; `verify` also has 5 and 6 for differences. The last line on stderr of a
failure is ``ignite-kafka: <error> <message>``, with ``--json`` a line of JSON.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Sequence

from ..common.local_disk import disk_errors
from ..errors import IgniteKafkaError, Interrupted
from ..runtime import logs
from .arguments import command_after_interrupt
from .command_table import Body, Call
from .commands import parse


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    :raises SystemExit: see :func:`~ignite_kafka.cli.commands.parse`.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    call = parse(words)
    level = logging.WARNING if call.arguments.quiet else logging.INFO
    logs.configure(level, "%(levelname)s %(message)s")
    try:
        with disk_errors():
            return _load_body(call)(call.arguments)
    except IgniteKafkaError as error:
        logs.show_error(error, as_json=call.arguments.json)
        return error.exit_code
    except BrokenPipeError:
        # the reader of the output has ended; without this, Python would report the error again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        remedy = command_after_interrupt(words) if call.may_have_written else ""
        interrupted = Interrupted("interrupted by Ctrl-C (SIGINT)", remedy)
        logs.show_error(interrupted, as_json=call.arguments.json)
        return interrupted.exit_code


def _load_body(call: Call) -> Body:
    if getattr(call.arguments, "file", None) is not None:
        from .connector_folder import folder_command

        return folder_command(call.arguments, call.row.path) or call.row.load_body()
    return call.row.load_body()


if __name__ == "__main__":
    sys.exit(main())
