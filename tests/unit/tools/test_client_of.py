"""A connection is found by both its ports: the kernel gives one local port to connections to several servers."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

from tests.support.kafka_proxy import Connection
from tests.support.processes import client_of

CLIENT = """
import socket, sys
local, server = map(int, sys.argv[1:])
with socket.socket() as client:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    client.bind(("127.0.0.1", local))
    client.connect(("127.0.0.1", server))
    print("connected", flush=True)
    sys.stdin.read()
"""


def test_processes_with_the_same_local_port_are_distinguished() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mine, socket.create_server(("127.0.0.1", 0)) as its, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        client.bind(("127.0.0.1", 0))
        client.connect(mine.getsockname())
        local = client.getsockname()[1]
        command = [sys.executable, "-c", CLIENT, str(local), str(its.getsockname()[1])]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdin is not None
            assert other.stdout is not None
            try:
                assert other.stdout.readline() == "connected\n"
                assert client_of(Connection(local, mine.getsockname()[1])).pid == os.getpid()
                assert client_of(Connection(local, its.getsockname()[1])).pid == other.pid
            finally:
                other.stdin.close()
