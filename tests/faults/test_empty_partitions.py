"""Partitions without entries are units like any other: marked done, and not read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.conftest import make_copy
from tests.support import oracle
from tests.support.servers import PARTITIONS, ProxiedBroker
from tools.servers import IgniteCluster


@pytest.mark.parametrize("entries", [pytest.param({}, marks=pytest.mark.long("three")), {1: "a", 2: "b", 33: "c"}], ids=["none", "three"])
def test_every_empty_unit_is_done(broker: ProxiedBroker, ignite: IgniteCluster, tmp_path: Path, entries: dict[int, str]) -> None:
    copy = make_copy(broker, ignite, tmp_path, entries)
    copy.run().assert_exit(0)
    copy.assert_complete()
    before = oracle.ends(broker.bootstrap, f"in-{copy.connector}-offsets-{copy.connector}")
    assert len(copy.offsets().of_cache(copy.cache)) == PARTITIONS
    copy.run().assert_exit(0)
    assert oracle.ends(broker.bootstrap, f"in-{copy.connector}-offsets-{copy.connector}") == before
    copy.assert_complete()
