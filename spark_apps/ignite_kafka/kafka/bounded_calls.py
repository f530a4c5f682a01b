"""Calls of librdkafka with an enforced time limit, because some calls never return.

librdkafka may wait without limit, whatever time-out it was given: ``send_offsets_to_transaction`` waits for a wake-up
that is lost when the coordinator's connection breaks (its issues 5456 and 5511). A waiting thread cannot be
ended. So such a call runs in a thread of its own, which is left behind if the call does not return; its client must not
be used again.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import AdminClient

from ..errors import CallsStuck, KafkaUnavailable

log = logging.getLogger(__name__)
T = TypeVar("T")
MOST_STUCK = 16
"""Maximum number of hanging calls in a process; each keeps a client with its threads and connections."""
GRACE_S = 5.0  # added to a call's own time-out, because a busy machine may delay the return
_CLOSE_S = 30.0
_left_behind: list[threading.Thread] = []
_REFRESH_S = 1.0  # an answer takes milliseconds; after this time the asked broker may be dead


class CallStuck(Exception):
    """Exception for a call that did not return; it may still take effect."""


def bounded(call: Callable[[], T], timeout_s: float) -> T:
    """Run a call in another thread, and stop waiting for it after a time limit.

    An interrupt is raised after the call, as if the call ran in this thread.

    :param timeout_s: the call's own time-out; :data:`GRACE_S` is added.
    :raises CallStuck: the call did not return in this time.
    :raises CallsStuck: :data:`MOST_STUCK` earlier calls of this process have not returned.
    """
    _left_behind[:] = [thread for thread in _left_behind if thread.is_alive()]
    if len(_left_behind) >= MOST_STUCK:
        raise CallsStuck(
            f"{len(_left_behind)} calls of librdkafka in this process have not returned",
            "Run again: a new process has no such calls. Check the network between this host and the brokers.",
            host=socket.gethostname(),
        )
    outcome: Future[T] = Future()
    ended = threading.Event()

    def run() -> None:
        try:
            outcome.set_result(call())
        except BaseException as error:  # noqa: BLE001  # raised in the caller's thread
            outcome.set_exception(error)
        ended.set()

    deadline = time.monotonic() + timeout_s + GRACE_S
    try:
        thread = threading.Thread(target=run, name="librdkafka", daemon=True)
        thread.start()
        ended.wait(timeout_s + GRACE_S)
    except BaseException:
        ended.wait(max(0.0, deadline - time.monotonic()))
        raise
    if not ended.is_set():
        _left_behind.append(thread)
        raise CallStuck(f"no return within {timeout_s + GRACE_S:.0f} s")
    return outcome.result()


def stuck(doing: str, cause: CallStuck, **where: Any) -> KafkaUnavailable:
    """Return the error to raise for a call that did not return."""
    return KafkaUnavailable(
        f"{doing}: {cause}; librdkafka waits for an answer that does not come",
        "None: another client is made. If it happens often, check the network between this host and the brokers.",
        **where,
    )


def await_answer(future: Future[Any], admin: AdminClient, timeout_s: float, doing: str, **where: Any) -> None:
    """Wait until an admin client's request is answered or has failed, even if the controller's broker is dead.

    An admin client asks the broker that its metadata name as the controller. If that broker is dead, librdkafka 2.16
    asks it again and again, with a whole core, until it is back. So the metadata are read again, from any broker, each
    second until the answer arrives.

    :param admin: the client of the request.
    :param timeout_s: time-out of the request.
    :raises KafkaUnavailable: :data:`GRACE_S` after this time-out, the request has neither an answer nor an error.
    """
    deadline = time.monotonic() + timeout_s + GRACE_S
    while not wait([future], min(_REFRESH_S, max(0.0, deadline - time.monotonic()))).done:
        if time.monotonic() >= deadline:
            raise stuck(doing, CallStuck(f"no answer within {timeout_s + GRACE_S:.0f} s"), **where)
        _refresh(admin)


def answer_of(future: Future[T], admin: AdminClient, timeout_s: float, doing: str, **where: Any) -> T:
    """Return the answer to an admin client's request; see :func:`await_answer`.

    :raises KafkaUnavailable: the request got no answer.
    :raises KafkaException: the request failed.
    """
    await_answer(future, admin, timeout_s, doing, **where)
    return future.result()


def _refresh(admin: AdminClient) -> None:
    """Make a client read the cluster's metadata again, to find a new controller; failures are ignored."""
    with suppress(KafkaException, CallStuck, CallsStuck):
        bounded(lambda: admin.list_topics(timeout=_REFRESH_S), _REFRESH_S)


def close_consumer(consumer: Consumer) -> None:
    """Close a consumer; leave it open if the call hangs, which loses nothing because it commits nothing."""
    try:
        bounded(consumer.close, _CLOSE_S)
    except (CallStuck, CallsStuck) as cause:
        log.warning("a consumer was left open: %s", cause)
