"""What tests of Kafka's records share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ignite_kafka.state import internal_records
from tests.support.event_log import Emitted, event_log


@pytest.fixture
def emitted() -> Iterator[Emitted]:
    """Id and fields of the events of the test, in order."""
    internal_records.reset_reported()
    with event_log() as found:
        yield found
