"""What tests of transforms share."""

from __future__ import annotations

import pytest

from ignite_kafka.common import linear_pattern


@pytest.fixture
def few_visits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of a match's steps is reached soon: a million of them take seconds under coverage."""
    monkeypatch.setattr(linear_pattern, "MAX_VISITS", 20_000)
