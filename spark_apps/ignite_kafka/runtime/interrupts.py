"""Handling of Ctrl-C during a call to Spark's JVM."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError


@contextmanager
def interrupts_raised() -> Iterator[None]:
    """Turn a Py4JError caused by Ctrl-C back into KeyboardInterrupt, without Py4J's traceback in the log.

    Py4J tells the JVM to cancel a call that Ctrl-C ends. If the connection is closed already, that raises a Py4JError,
    and the caller does not see the KeyboardInterrupt (py4j/java_gateway.py, ``GatewayClient.send_command``).

    :raises KeyboardInterrupt: the cause of a Py4JError.
    """
    by_py4j = logging.getLogger()  # it logs with the root logger
    by_py4j.addFilter(_is_no_interrupt)
    try:
        yield
    except Py4JError as error:
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        raise
    finally:
        by_py4j.removeFilter(_is_no_interrupt)


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], KeyboardInterrupt))
