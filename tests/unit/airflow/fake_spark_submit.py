"""Stands in for spark-submit: notes how it was called, says and returns what its note of orders holds.

Orders are JSON in the file that FAKE_ORDERS names: `print` (lines), `exit_code`, `until_stopped` (wait for SIGTERM), `stubborn`
(ignore it).
What it saw goes beside it: `argv`, `environment` (of PySpark, Airflow and MY_*), `request`, `secrets` and the mode of their file.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any


def seen(argv: list[str]) -> dict[str, Any]:
    interesting = {name: value for name, value in os.environ.items() if name.startswith(("PYSPARK_", "AIRFLOW_", "MY_"))}
    notes: dict[str, Any] = {"argv": argv, "environment": interesting}
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
    if orders.get("stubborn"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif orders.get("until_stopped"):
        signal.signal(signal.SIGTERM, stopped)
    orders_file.with_name("seen.json").write_text(json.dumps(seen(sys.argv[1:])))
    for line in orders.get("print", []):
        print(line, flush=True)
    while orders.get("until_stopped"):
        time.sleep(60)
    return int(orders.get("exit_code", 0))


def stopped(_number: int, _frame: FrameType | None) -> None:
    print("x" * 200_000, flush=True)  # more than a pipe holds: nobody can stop whose output is not read
    sys.exit(143)


if __name__ == "__main__":
    sys.exit(main())
