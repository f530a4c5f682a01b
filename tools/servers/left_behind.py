"""Ends the processes and removes the folder that a run leaves behind, even if the run is interrupted, terminated or killed.

Every process that a run starts inherits an environment variable, its mark. A watcher process waits on a pipe for the
end of the run, then ends all processes with the mark, in whatever session or process group, and removes the folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

from tools.servers.jars import CHECKOUT
from tools.servers.marks import end, marked, set_mark

MARK = "IGNITE_KAFKA_TEST_RUN"
KEPT = "kept"  # a file of this name in the folder keeps it


def watch(name: str = MARK, folder: Path | None = None) -> str:
    """Mark this process's future children, start the watcher and return the mark's value.

    :param name: environment variable of the mark.
    :param folder: removed at the end, unless it has a file :data:`KEPT`; None: nothing is removed.
    """
    run = uuid.uuid4().hex
    set_mark(name, run)
    kept = {variable: value for variable, value in os.environ.items() if variable != name}
    # the pipe's other end closes with this process; a session of its own, so that Ctrl-C does not reach the watcher
    watcher = subprocess.Popen(
        [sys.executable, "-m", __name__, name, run, str(folder or "")],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env={**kept, "PYTHONPATH": os.pathsep.join((str(CHECKOUT), str(CHECKOUT / "spark_apps")))},
        start_new_session=True,
    )
    _watchers.append(watcher)
    return run


_watchers: list[subprocess.Popen[bytes]] = []  # a Popen that is collected would close the pipe


def main(name: str, run: str, folder: str) -> None:
    """Wait for the end of the run, then end its processes and remove its folder."""
    sys.stdin.read()
    end(marked(name, run), timeout_s=10)
    if folder and not Path(folder, KEPT).exists():
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
