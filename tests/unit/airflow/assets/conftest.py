"""What a run of the bench's operator has copied."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def copied() -> Any:
    from airflow_provider_ignite_kafka.assets.copied import Copied, CopiedCache

    return Copied(True, ("node:10800",), ("broker:9092",), (CopiedCache("flights", "t-flights", 10, 1000, 1),), {"connector": "c"})
