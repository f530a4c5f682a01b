"""Fake spark-submit: notes its call, prints and returns what its orders hold.

Orders are JSON in the file that FAKE_ORDERS names: `print` (lines), `exit_code`, `until_stopped` (wait for SIGTERM), `stubborn`
(ignore it), `graceful` (end by it with exit code 0, as a graceful app), `app` (have a child do all this, as Spark's JVM has).
Its notes are beside it: `pid`, `argv`, `environment` (of PySpark, spark-submit, Airflow and MY_*), `request`, `secrets`
and the mode of their file.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def seen(argv: list[str]) -> dict[str, Any]:
    interesting = {name: value for name, value in os.environ.items() if name.startswith(("PYSPARK_", "AIRFLOW_", "MY_", "SPARK_SUBMIT_"))}
    notes: dict[str, Any] = {"pid": os.getpid(), "argv": argv, "environment": interesting}
    shipped = {
        Path(path).name: path for option in ("--files", "--py-files") if option in argv for path in argv[argv.index(option) + 1].split(",")
    }
    notes["shipped"] = sorted(shipped)
    for name in ("request", "secrets"):
        if f"--{name}" in argv:
            path = Path(argv[argv.index(f"--{name}") + 1])
            path = path if path.is_absolute() else Path(shipped[str(path)])
            notes |= {name: json.loads(path.read_text()), f"{name}_mode": path.stat().st_mode & 0o777, f"{name}_path": str(path)}
    return notes


def main() -> int:
    orders_file = Path(os.environ["FAKE_ORDERS"])
    orders = json.loads(orders_file.read_text())
    if orders.get("app") and "FAKE_APP" not in os.environ:
        return subprocess.run([sys.executable, *sys.argv], env={**os.environ, "FAKE_APP": "1"}, check=False).returncode
    if orders.get("stubborn"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif orders.get("until_stopped"):
        signal.signal(signal.SIGTERM, lambda *_: stopped(0 if orders.get("graceful") else 143))
    orders_file.with_name("seen.json").write_text(json.dumps(seen(sys.argv[1:])))
    for line in orders.get("print", []):
        print(line, flush=True)
    while orders.get("until_stopped"):
        time.sleep(600)
    return int(orders.get("exit_code", 0))


def stopped(exit_code: int) -> None:
    print("x" * 200_000, flush=True)  # more than a pipe holds: the app blocks unless its output is read
    sys.exit(exit_code)


if __name__ == "__main__":
    sys.exit(main())
