"""Waits of the tests: on a condition, with one deadline."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from ignite_kafka.common.deadline import Deadline

# bounds a hang: what takes seconds on a quiet machine takes minutes on one that is busy
DEADLINE_S = 600.0
REQUEST_S = 60.0  # of one request to a server; the caller sends it again, or the test has failed
_POLL_S = 0.05
T = TypeVar("T")


def wait_until(
    probe: Callable[[], T | None], what: str | Callable[[], object], *, deadline_s: float = DEADLINE_S, poll_s: float = _POLL_S
) -> T:
    """Call until the result is neither None nor False, and return it.

    :param what: the condition, for the message of the error; a function is called then, and can tell what there is instead.
    :raises TimeoutError: the deadline has passed.
    """
    deadline = Deadline.after(deadline_s)
    while True:
        value = probe()
        if value is not None and value is not False:
            return value
        if deadline.expired:
            raise TimeoutError(f"{what() if callable(what) else what}: not within {deadline_s:.0f} s")
        time.sleep(poll_s)


def takes_connections(port: int) -> bool:
    """Whether a server of this host listens on a port."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), REQUEST_S):
        return True
    return False
