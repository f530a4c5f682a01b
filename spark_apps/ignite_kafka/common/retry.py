"""Calls that are tried again until a deadline, because what they fail for may pass."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from ..errors import IgniteKafkaError

T = TypeVar("T")
_WAIT_S = 0.25


def retry(
    call: Callable[[], T],
    within_s: float,
    when: Callable[[IgniteKafkaError], bool],
    *,
    failed: Callable[[IgniteKafkaError], object] = lambda _error: None,
    wait_s: float = _WAIT_S,
) -> T:
    """The result of a call, which is made again after an error that may pass. It is made at least once.

    :param within_s: seconds after which an error is raised as it is, with the time that was waited.
    :param when: whether the call is made again after this error.
    :param failed: is given each error after which the call is made again.
    :param wait_s: seconds between two calls.
    :raises IgniteKafkaError: the last error of the call.
    """
    began = time.monotonic()
    while True:
        try:
            return call()
        except IgniteKafkaError as error:
            if not when(error):
                raise
            waited_s = time.monotonic() - began
            if waited_s > within_s:
                raise _waited(error, waited_s) from error
            failed(error)
        time.sleep(wait_s)


def _waited(error: IgniteKafkaError, waited_s: float) -> IgniteKafkaError:
    return type(error)(error.what, error.remedy, **{**error.where, "waited": f"{waited_s:.0f} s"})
