"""A private Airflow home, set before the first import of airflow; connections as environment variables."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.airflow_home import use_private_home

if TYPE_CHECKING:
    from tests.unit.airflow.bench import Bench

use_private_home()

Connect = Callable[..., None]


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Connect:
    """Set an Airflow connection: ``connect("ignite_default", conn_type="ignite", host="node-1")``."""

    def set_connection(conn_id: str, **fields: Any) -> None:
        monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", json.dumps(fields))

    return set_connection


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, connect: Connect) -> Bench:
    """Bench of the copy operators."""
    monkeypatch.delenv("SPARK_SUBMIT_OPTS", raising=False)  # of the drivers that tests start
    from tests.unit.airflow.bench import make_bench  # it imports Airflow, after its home is set

    return make_bench(tmp_path, monkeypatch, connect)
