"""Ids that sort by time and differ within a second."""

from __future__ import annotations

import re

from ignite_kafka.common.new_id import new_id


def test_ids_have_the_time_and_differ() -> None:
    ids = {new_id() for _ in range(100)}
    assert len(ids) == 100
    assert all(re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{8}", one) for one in ids)
