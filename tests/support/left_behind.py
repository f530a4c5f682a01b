"""Ends the processes that a test run leaves behind, even if the run is interrupted, terminated or killed.

Every process that a run starts inherits the environment variable :data:`MARK`. A watcher process waits on a pipe for the end of the run,
then ends all processes with the run's mark, in whatever session or process group.
"""

from __future__ import annotations

import os
import subprocess
import sys
import uuid

from tools.servers.jars import CHECKOUT
from tools.servers.marks import end, marked

MARK = "IGNITE_KAFKA_TEST_RUN"


def watch() -> int:
    """Mark this process's future children, start the watcher and return its process id."""
    os.environ[MARK] = run = uuid.uuid4().hex
    kept = {name: value for name, value in os.environ.items() if name != MARK}
    # the pipe's other end closes with this process; a session of its own, so that Ctrl-C does not reach the watcher
    watcher = subprocess.Popen(
        [sys.executable, "-m", __name__, run],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env={**kept, "PYTHONPATH": str(CHECKOUT)},
        start_new_session=True,
    )
    _watchers.append(watcher)
    return watcher.pid


_watchers: list[subprocess.Popen[bytes]] = []  # a Popen that is collected would close the pipe


def main(run: str) -> None:
    sys.stdin.read()
    end(marked(MARK, run), timeout_s=10)


if __name__ == "__main__":
    main(sys.argv[1])
