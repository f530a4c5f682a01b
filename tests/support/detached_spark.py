"""A cluster manager's `spark-submit` and `yarn` on one machine: the driver is a real Spark app that outlives its spark-submit.

Stands in for YARN, which the tests do not have. The app is started by the real spark-submit with a local master, in a session and a folder
of its own, with the shipped files in its working directory; then this program ends, as with ``waitAppCompletion=false``. As `yarn` it kills
an app or tells whether it runs. The folder of this program is the cluster: one folder per application.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

_NOT_FOR_LOCAL = ("--master", "--deploy-mode", "--files", "--py-files", "--num-executors")
_PID, _LOG = "pid", "driver.log"


class DetachedSpark:
    """The stand-in's folder, as a test sees it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(self) -> DetachedSpark:
        """Write the programs `spark-submit` and `yarn`."""
        self.folder.mkdir()
        for name in ("spark-submit", "yarn"):
            program = self.folder / name
            program.write_text(f'#!/bin/sh\nexec {sys.executable} {__file__} {self.folder} {name} "$@"\n')
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return self

    @property
    def submit(self) -> str:
        return str(self.folder / "spark-submit")

    def applications(self) -> list[Path]:
        """Folders of all applications, oldest first."""
        return sorted(self.folder.glob("application_*"))

    def running(self) -> list[Path]:
        """Folders of the applications that run."""
        return [application for application in self.applications() if _alive(application)]

    def log(self) -> str:
        """Logs of all drivers."""
        return "\n".join((application / _LOG).read_text(errors="replace") for application in self.applications())

    def kill(self, application: Path) -> None:
        """Kill an application with all its processes (SIGKILL)."""
        _kill(application)


def submit(cluster: Path, arguments: Sequence[str]) -> int:
    """Start an app and print its id."""
    kept, files, rest = _parsed(arguments)
    application = cluster / f"application_{int(time.time() * 1000)}_0001"
    staged = application / "files"
    staged.mkdir(parents=True)
    (application / "tmp").mkdir()
    for name in ("files", "py_files"):
        files[name] = [str(shutil.copy(path, str(staged))) for path in files[name]]
    import pyspark

    real = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    command = [str(real), "--master", "local[2]", *kept, "--py-files", ",".join(files["py_files"]), *rest]
    environment = {
        **os.environ,
        "TMPDIR": str(application / "tmp"),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    with (application / _LOG).open("ab") as log:
        driver = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=staged, env=environment, start_new_session=True
        )
    (application / _PID).write_text(str(driver.pid))
    print(f"INFO Client: Submitted application {application.name}", flush=True)
    return 0


def _parsed(arguments: Sequence[str]) -> tuple[list[str], dict[str, list[str]], list[str]]:
    """Options for a local master, files to ship, and the app with its arguments."""
    kept: list[str] = []
    files: dict[str, list[str]] = {"files": [], "py_files": []}
    left = list(arguments)
    while left and left[0].startswith("--"):
        name, value, *left = left
        if name in ("--files", "--py-files"):
            files[name[2:].replace("-", "_")] = value.split(",")
        elif name not in _NOT_FOR_LOCAL:
            kept += [name, value]
    return kept, files, left


def yarn(cluster: Path, arguments: Sequence[str]) -> int:
    """``yarn application -kill|-status ID``."""
    _, option, name = arguments
    application = cluster / name
    if option == "-kill":
        _kill(application)
    else:
        print(f"\tState : {'RUNNING' if _alive(application) else 'FINISHED'}")
    return 0


def _alive(application: Path) -> bool:
    try:
        driver = psutil.Process(int((application / _PID).read_text()))
        return bool(driver.is_running() and driver.status() != psutil.STATUS_ZOMBIE)
    except (psutil.NoSuchProcess, FileNotFoundError):
        return False


def _kill(application: Path) -> None:
    if _alive(application):
        os.killpg(int((application / _PID).read_text()), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit({"spark-submit": submit, "yarn": yarn}[sys.argv[2]](Path(sys.argv[1]), sys.argv[3:]))
