"""A TCP proxy in front of a local port that cuts, delays or silences connections."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass, field

_CHUNK = 1 << 16


@dataclass
class _Link:
    client: socket.socket
    server: socket.socket
    silent: threading.Event = field(default_factory=threading.Event)

    def close(self) -> None:
        for end in (self.client, self.server):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class TcpProxy:
    """Forwards each connection to ``port`` of ``host``; a context manager.

    :attr:`delay_s` delays all data, in both directions. Connections beyond :attr:`most_links` are closed at once and counted in
    :attr:`refused`: with the number of links so far, the server is away.
    """

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._host = host
        self._port, self._links, self.delay_s = port, list[_Link](), 0.0
        self.most_links, self.refused = sys.maxsize, 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def links(self) -> int:
        """Number of connections made so far."""
        return len(self._links)

    def cut(self) -> None:
        """Close all connections."""
        for link in self._links:
            link.close()

    @staticmethod
    def cut_all(proxies: Collection[TcpProxy], seconds: float) -> None:
        """Close all connections of several proxies, and refuse new ones for some time."""
        for proxy in proxies:
            proxy.most_links = 0
        for proxy in proxies:
            proxy.cut()
        time.sleep(seconds)
        for proxy in proxies:
            proxy.most_links = sys.maxsize

    def silence(self) -> None:
        """Leave existing connections half open: they transmit nothing any more. New connections work."""
        for link in self._links:
            link.silent.set()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if len(self._links) >= self.most_links:
                    client.close()
                    self.refused += 1
                    continue
                try:
                    link = _Link(client, socket.create_connection((self._host, self._port)))
                except OSError:  # nothing listens there now
                    client.close()
                    continue
                self._links.append(link)
                for ends in ((link.client, link.server), (link.server, link.client)):
                    threading.Thread(target=self._pump, args=(link, *ends), daemon=True).start()

    def _pump(self, link: _Link, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK):
                time.sleep(self.delay_s)
                if not link.silent.is_set():
                    sink.sendall(data)
        if not link.silent.is_set():
            link.close()

    def __enter__(self) -> TcpProxy:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self.cut()
