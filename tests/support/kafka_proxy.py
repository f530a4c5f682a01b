"""A TCP proxy between Kafka clients and one broker that holds, drops or delays single requests or replies.

The broker has a listener of its own for the proxy, which advertises the proxy's port (``advertised.listeners``), so every client that
bootstraps from the proxy stays behind it and no response is rewritten. Oracles use the broker's other listener.

Frames: https://kafka.apache.org/protocol (size int32; request: api key int16, version int16, correlation id int32, client id; response:
correlation id int32). A broker answers the requests of one connection in their order, so holding one frame holds what follows it on the
same connection, as a slow network does; other connections are not affected.
"""

from __future__ import annotations

import contextlib
import re
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from tests.support.kafka_frames import read_frame, read_varint
from tests.support.waiting import DEADLINE_S, REQUEST_S


class Api(IntEnum):
    """Request kinds that a rule can name."""

    PRODUCE = 0
    FETCH = 1
    METADATA = 3
    FIND_COORDINATOR = 10
    INIT_PRODUCER_ID = 22
    ADD_PARTITIONS_TO_TXN = 24
    END_TXN = 26


_FLEXIBLE_FROM = {Api.PRODUCE: 9, Api.INIT_PRODUCER_ID: 2, Api.ADD_PARTITIONS_TO_TXN: 3, Api.END_TXN: 3}


class Connection(NamedTuple):
    """A TCP connection on loopback as its client sees it. One local port can serve several, each to another port."""

    client_port: int
    server_port: int


@dataclass(frozen=True)
class Request:
    """One request as the proxy saw it; ``connection`` identifies the process that sent it."""

    api: int
    version: int
    correlation: int
    transactional_id: str | None
    connection: Connection


def parse_request(frame: bytes, connection: Connection) -> Request:
    """The head of a request frame (without its size); with the transactional id if the body begins with it."""
    api, version, correlation, name_length = struct.unpack_from(">hhih", frame)
    position = 10 + max(0, name_length)
    transactional_id = None
    if api in _FLEXIBLE_FROM and version >= (3 if api == Api.PRODUCE else 0):
        if version >= _FLEXIBLE_FROM[Api(api)]:
            # flexible header: an empty tag section, then a compact string whose length is stored plus one
            length, position = read_varint(frame, position + 1)
            length -= 1
        else:
            (length,) = struct.unpack_from(">h", frame, position)
            position += 2
        transactional_id = frame[position : position + length].decode() if length >= 0 else None
    return Request(api, version, correlation, transactional_id, connection)


class Rule:
    """What happens to the ``nth`` matching request (counted from 1), or to every one from it on where ``count`` is more than 1."""

    def __init__(self, api: Api, transactional_id: str | None, nth: int, count: int, kind: str, delay_s: float) -> None:
        self.kind, self.delay_s = kind, delay_s
        self.request: Request | None = None
        self._api, self._nth, self._count = api, nth, count
        self._pattern = None if transactional_id is None else re.compile(transactional_id)
        self._matched = 0
        self._lock = threading.Lock()
        self._reached, self._decided = threading.Event(), threading.Event()
        self._forward = True
        if kind == "hold request":
            self._answer = Rule(api, transactional_id, nth, count, "answer", 0)

    def takes(self, request: Request) -> bool:
        """Count the request and return whether this rule applies to it."""
        if request.api != self._api or (self._pattern and not self._pattern.fullmatch(request.transactional_id or "")):
            return False
        with self._lock:
            self._matched += 1
            return self._nth <= self._matched < self._nth + self._count

    def wait(self, deadline_s: float = DEADLINE_S) -> Request:
        """The request, once it is held (or, for a held or passed reply, once the broker's reply is here).

        :raises TimeoutError: it did not come in time.
        """
        if not self._reached.wait(deadline_s) or self.request is None:
            raise TimeoutError(f"{self}: not within {deadline_s:.0f} s")
        return self.request

    def __str__(self) -> str:
        who = f" of {self._pattern.pattern}" if self._pattern else ""
        return f"{self.kind} of {self._api.name}{who}, number {self._nth} ({self._matched} matching requests so far)"

    @property
    def reached(self) -> bool:
        return self._reached.is_set()

    def await_reached(self, deadline_s: float) -> None:
        self._reached.wait(deadline_s)

    @property
    def answer(self) -> Rule:
        """Reached once the broker has answered the held request."""
        return self._answer

    def release(self) -> None:
        """Forward the held frame, even if its client is dead by now."""
        self._decided.set()

    def drop(self) -> None:
        """Drop the held frame and cut its connection."""
        self._forward = False
        self._decided.set()

    def reach(self, request: Request) -> None:
        """Called by the proxy's threads."""
        if self.request is None:
            self.request = request
        self._reached.set()

    def hold(self, request: Request) -> bool:
        """Called by the proxy's threads: wait for the test's decision; False means lose the frame."""
        self.reach(request)
        self._decided.wait()
        return self._forward


class KafkaProxy:
    """Listens on ``port`` (0: any free one) of loopback and forwards to the broker's port once :meth:`forward_to` is called."""

    def __init__(self, port: int = 0) -> None:
        self._server = socket.create_server(("127.0.0.1", port))
        self.port: int = self._server.getsockname()[1]
        self.bootstrap = f"127.0.0.1:{self.port}"
        self.transactional_requests: list[Request] = []
        self._target = 0
        self._rules: list[Rule] = []
        self._links: set[_Link] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._acceptor = threading.Thread(target=self._accept, name=f"kafka-proxy {self.port}", daemon=True)
        self._acceptor.start()

    def forward_to(self, broker_port: int) -> KafkaProxy:
        self._target = broker_port
        return self

    def hold_request(self, api: Api, transactional_id: str | None = None, nth: int = 1) -> Rule:
        """Keep a request from the broker until ``release`` or ``drop``. ``transactional_id`` is a regular expression for all of it."""
        return self._add(Rule(api, transactional_id, nth, 1, "hold request", 0))

    def hold_reply(self, api: Api, transactional_id: str | None = None, nth: int = 1) -> Rule:
        """Pass a request on and keep the broker's reply until ``release`` or ``drop``."""
        return self._add(Rule(api, transactional_id, nth, 1, "hold reply", 0))

    def watch_reply(self, api: Api, transactional_id: str | None = None, nth: int = 1) -> Rule:
        """Pass a request and its reply; ``wait`` returns once the reply was sent to the client."""
        return self._add(Rule(api, transactional_id, nth, 1, "watch reply", 0))

    def hold_next(self, api: Api, transactional_id: str | None = None, nth: int = 1) -> Rule:
        """Pass a request and its reply, and keep what its connection sends next: the client is there, however late the test looks."""
        return self._add(Rule(api, transactional_id, nth, 1, "hold next", 0))

    def delay_replies(self, api: Api, delay_s: float, transactional_id: str | None = None, nth: int = 1, count: int = 1) -> Rule:
        """Pass requests on and send each reply ``delay_s`` late."""
        return self._add(Rule(api, transactional_id, nth, count, "delay reply", delay_s))

    def cut(self) -> None:
        """Close every connection; new ones are accepted."""
        with self._lock:
            links = list(self._links)
        for link in links:
            link.close()

    def clear(self) -> None:
        """Remove all rules and forward the frames that they hold."""
        with self._lock:
            rules, self._rules = self._rules, []
        for rule in rules:
            rule.release()

    def close(self) -> None:
        self._closed = True
        with self._lock:
            rules, self._rules = self._rules, []
        for rule in rules:
            rule.drop()
        # a blocked accept() is not woken by close() alone
        self._server.shutdown(socket.SHUT_RDWR)
        self._acceptor.join(DEADLINE_S)
        self._server.close()
        with self._lock:
            links = list(self._links)
        self.cut()
        for link in links:
            link.join()

    def __enter__(self) -> KafkaProxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def rule_of(self, request: Request) -> Rule | None:
        """The first rule that takes a request; every rule counts it."""
        with self._lock:
            if request.transactional_id is not None:
                self.transactional_requests.append(request)
            taken = [rule for rule in self._rules if rule.takes(request)]
        return taken[0] if taken else None

    def forget(self, link: _Link) -> None:
        with self._lock:
            self._links.discard(link)

    def _add(self, rule: Rule) -> Rule:
        with self._lock:
            self._rules.append(rule)
        return rule

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, (_, client_port) = self._server.accept()
            except OSError:
                return
            try:
                broker = socket.create_connection(("127.0.0.1", self._target), REQUEST_S)
            except OSError:
                client.close()
                continue
            broker.settimeout(None)
            link = _Link(self, client, broker, Connection(client_port, self.port))
            with self._lock:
                self._links.add(link)
            link.start()


class _Link:
    """One client connection and its twin to the broker: a thread for each direction."""

    def __init__(self, proxy: KafkaProxy, client: socket.socket, broker: socket.socket, connection: Connection) -> None:
        self._proxy, self._client, self._broker, self._connection = proxy, client, broker, connection
        self._awaited: dict[int, tuple[Rule, Request]] = {}
        self._held: tuple[Rule, Request] | None = None  # a rule whose request was answered, and that holds the next one
        self._threads = [
            threading.Thread(target=self._run, args=(pump,), name=f"kafka-proxy-{connection.client_port}", daemon=True)
            for pump in (self._requests, self._replies)
        ]
        self._ended: list[None] = []

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Wake both directions and let them end."""
        for end in (self._client, self._broker):
            with contextlib.suppress(OSError):  # the peer closed it first
                end.shutdown(socket.SHUT_RDWR)

    def join(self) -> None:
        for thread in self._threads:
            thread.join(DEADLINE_S)

    def _run(self, pump: Callable[[], None]) -> None:
        with contextlib.suppress(OSError):  # a client or broker that goes away ends its link
            pump()
        self.close()
        self._ended.append(None)
        if len(self._ended) == len(self._threads):
            self._client.close()
            self._broker.close()
            self._proxy.forget(self)

    def _requests(self) -> None:
        while (frame := read_frame(self._client)) is not None:
            held, self._held = self._held, None
            if held is not None and not held[0].hold(held[1]):
                return
            request = parse_request(frame, self._connection)
            rule = self._proxy.rule_of(request)
            if rule is not None and rule.kind == "hold request":
                if not rule.hold(request):
                    return
                self._awaited[request.correlation] = rule.answer, request
            elif rule is not None:
                self._awaited[request.correlation] = rule, request
            self._broker.sendall(struct.pack(">i", len(frame)) + frame)
            if rule is not None and rule.kind == "hold request":
                # its client may have gone meanwhile; the link stays whole until the broker has dealt with the late frame
                rule.answer.await_reached(REQUEST_S)

    def _replies(self) -> None:
        while (frame := read_frame(self._broker)) is not None:
            (correlation,) = struct.unpack_from(">i", frame)
            rule, request = self._awaited.pop(correlation, (None, None))
            if rule is not None and request is not None:
                if rule.kind == "hold reply" and not rule.hold(request):
                    return
                if rule.kind == "delay reply":
                    rule.reach(request)
                    time.sleep(rule.delay_s)
                if rule.kind == "answer":
                    rule.reach(request)
                if rule.kind == "hold next":
                    self._held = rule, request
            self._client.sendall(struct.pack(">i", len(frame)) + frame)
            if rule is not None and request is not None and rule.kind in ("watch reply", "hold next"):
                rule.reach(request)
