"""Ctrl-C during a call to Spark's JVM is a KeyboardInterrupt, whatever Py4J makes of it."""

from __future__ import annotations

import logging
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.clientserver import ClientServerConnection
from py4j.java_gateway import GatewayClient
from py4j.protocol import Py4JError

from ignite_kafka.runtime.interrupts import interrupts_raised


class Interrupted(ClientServerConnection):
    """A connection whose call Ctrl-C ends, and that is closed when Py4J wants to cancel the call."""

    def __init__(self) -> None:
        self.is_connected = False
        self.address, self.port, self.java_address, self.java_port = "127.0.0.1", 1, "127.0.0.1", 1
        self.socket = SimpleNamespace(getsockname=lambda: ("127.0.0.1", 1), getpeername=lambda: ("127.0.0.1", 2))

    def send_command(self, command: str) -> str:
        raise KeyboardInterrupt

    def close(self, reset: bool = False) -> None:
        """Nothing is open."""


class Client(GatewayClient):
    """Py4J's own client with one such connection."""

    def __init__(self) -> None:
        self.deque: Any = []
        self.gateway_property = SimpleNamespace(pool=None)
        self.lock = threading.RLock()

    def _get_connection(self) -> Interrupted:
        return Interrupted()


def test_py4j_hides_the_interrupt() -> None:
    with pytest.raises(Py4JError) as error:
        Client().send_command("c\n")
    assert isinstance(error.value.__context__, KeyboardInterrupt)


def test_the_interrupt_is_raised() -> None:
    with pytest.raises(KeyboardInterrupt), interrupts_raised():
        Client().send_command("c\n")


def test_other_errors_of_py4j_pass() -> None:
    with pytest.raises(Py4JError, match="no such method"), interrupts_raised():
        raise Py4JError("no such method")


def test_py4j_logs_no_traceback_of_an_interrupt(caplog: pytest.LogCaptureFixture) -> None:
    """Py4J's client logs the interrupt; other errors are still logged."""
    caplog.set_level(logging.ERROR)  # Airflow's tests may have left a level at which Py4J logs its connections, too
    with interrupts_raised():
        logging.getLogger().error("another error")
    with pytest.raises(KeyboardInterrupt), interrupts_raised():
        Client().send_command("c\n")
    assert caplog.messages == ["another error"]
    with pytest.raises(Py4JError):
        Client().send_command("c\n")
    assert caplog.messages == ["another error", "KeyboardInterrupt while sending command."]
