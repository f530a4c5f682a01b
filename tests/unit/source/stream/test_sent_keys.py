"""Keys whose entries the filter leaves out are as good as absent."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from ignite_kafka.convert.filter.entries import EntryFilter
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.plan.source_plan import CachePlan
from ignite_kafka.source.stream.sent_keys import SentKeys
from tests.support.bad_entries import long
from tests.support.ignite_bytes import CACHE, Types, number, string

VALUES = {long(1): number(codes.INT, 1), long(2): number(codes.INT, 9), long(3): string("no number")}
KEYS = [long(1), long(2), long(4), long(3)]


class Client:
    """A cluster with :data:`VALUES`."""

    cluster = Types()

    def __init__(self) -> None:
        self.looked_up: list[bytes] = []

    def locate(self, cache: str, keys: Sequence[bytes]) -> Any:
        return np.arange(len(keys), dtype=np.int32), np.array([key in VALUES for key in keys])

    def look_up(self, cache: str, keys: Sequence[bytes]) -> list[bytes | None]:
        self.looked_up += keys
        return [VALUES.get(key) for key in keys]


@pytest.mark.parametrize(
    ("where", "there"),
    [(None, [True, True, False, True]), ("_value > 5", [False, True, False, True]), ("_key = 1", [True, False, False, False])],
)
def test_present_keys_are_those_that_are_sent(where: str | None, there: list[bool]) -> None:
    """An entry for which the filter fails is not gone: a tombstone would delete what the topic has of it."""
    client = Client()
    sent = SentKeys(cast(Any, client), cast(CachePlan, SimpleNamespace(name="tested")), CACHE, EntryFilter(where) if where else None)
    partitions, found = sent.locate(KEYS)
    assert (partitions.tolist(), found.tolist()) == ([0, 1, 2, 3], there)
    assert client.looked_up == ([] if where is None else [long(1), long(2), long(3)])
    assert sent.kept([VALUES.get(key) for key in KEYS], KEYS).tolist() == there


def test_no_key_is_no_question() -> None:
    sent = SentKeys(cast(Any, Client()), cast(CachePlan, SimpleNamespace(name="tested")), CACHE, EntryFilter("_value > 5"))
    assert sent.locate([long(7)])[1].tolist() == [False]
    assert sent.kept([], []).tolist() == []
