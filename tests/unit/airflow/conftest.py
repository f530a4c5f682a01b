"""A private Airflow home, set before the first import of airflow; connections as environment variables."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.airflow_home import use_private_home

use_private_home()

Connect = Callable[..., None]


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Connect:
    """Set an Airflow connection: ``connect("ignite_default", conn_type="ignite", host="node-1")``."""

    def set_connection(conn_id: str, **fields: Any) -> None:
        monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", json.dumps(fields))

    return set_connection
