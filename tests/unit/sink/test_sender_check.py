"""Records of another cluster with the number of the sink's are refused; own records in a ring are not."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.ignite.entry_versions import EntryVersions
from ignite_kafka.kafka.headers import HEADERS, joined_headers
from ignite_kafka.kafka.records import Consumed
from ignite_kafka.kafka.version_headers import sender_headers, version_headers
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.sink.sender_check import check_senders

SETTINGS = SinkSettings(name="c", topics=("t",), ignite_addresses=("node:10800",))


def consumed(headers: pa.ListArray | None) -> Consumed:
    keys = pa.array([b"a", b"b", b"c"], pa.binary())
    return Consumed("t", 4, keys, keys, np.arange(7, 10), headers=headers)


def written_by(*clusters: int) -> pa.ListArray:
    return version_headers(EntryVersions(np.array([5, 6, 7], np.int64), np.array(clusters, np.int8), np.zeros(3, np.int64)), "")


def test_a_source_of_a_cluster_with_the_same_number_is_refused() -> None:
    with pytest.raises(SettingsError, match="same number, 3") as refused:
        check_senders(consumed(written_by(2, 3, 3)), 3, SETTINGS)
    assert refused.value.where == {"topic": "t", "partition": 4, "offset": 8, "sink_cluster": "node:10800"}
    assert "IGNITE_KAFKA_ACTIVE_ACTIVE_CLUSTER" in refused.value.remedy


def test_a_source_that_forwards_is_refused_by_its_own_number() -> None:
    with pytest.raises(SettingsError, match="same number, 3"):
        check_senders(consumed(joined_headers(written_by(1, 1, 2), sender_headers(3, 3))), 3, SETTINGS)


@pytest.mark.parametrize(
    "headers",
    [written_by(1, 2, 2), joined_headers(written_by(3, 1, 3), sender_headers(2, 3)), pa.nulls(3, HEADERS)],
    ids=["of other clusters", "own ones in a ring", "without versions"],
)
def test_other_records_are_accepted(headers: pa.ListArray) -> None:
    check_senders(consumed(headers), 3, SETTINGS)
