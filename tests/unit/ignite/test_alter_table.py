"""Columns that the cluster refuses to add: the error's text."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ignite_kafka.errors import WriteFailed
from ignite_kafka.ignite.alter_table import add_column
from ignite_kafka.ignite.protocol import ThinError


def test_a_refused_column_is_named_in_one_line() -> None:
    def refuse(_: object) -> None:
        raise ThinError(1, "not authorized")

    cluster: Any = SimpleNamespace(ask=refuse)
    with pytest.raises(WriteFailed) as failed:
        add_column(cluster, "S", "TRADE", "A\nB", "BIGINT")
    assert failed.value.what == r"Ignite did not add column 'A\nB' BIGINT to an SQL table: not authorized"
    assert failed.value.where == {"table": "S.TRADE"}
