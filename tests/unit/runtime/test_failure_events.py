"""Events of errors that delay or end a run."""

from __future__ import annotations

import pytest

from ignite_kafka import events
from ignite_kafka.errors import (
    BacklogRefused,
    BacklogUnavailable,
    ChangesLost,
    IgniteKafkaError,
    IgniteUnreachable,
    KafkaUnavailable,
    WriteFailed,
)
from ignite_kafka.runtime.failure_events import report_end, report_retry


def emitted(caplog: pytest.LogCaptureFixture) -> list[int]:
    return [record.__dict__["event_id"] for record in caplog.records if "event_id" in record.__dict__]


@pytest.mark.parametrize(
    ("error", "ids"),
    [
        (IgniteUnreachable("gone", address="n:1"), [15120, 15040, 15061]),
        (WriteFailed("full"), [15120, 15040]),
        (BacklogUnavailable("not now"), [15120, 15040]),
        (KafkaUnavailable("gone"), [15120]),
    ],
)
def test_a_retry_names_the_part_that_failed(error: IgniteKafkaError, ids: list[int], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    report_retry(error, events.WRITE_FAILED, "0, 1")
    assert emitted(caplog) == ids
    assert all(error.what in one.getMessage() for one in caplog.records)


def test_a_scan_that_is_repeated_is_no_failed_query(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    report_retry(IgniteUnreachable("gone"), None, 3)
    assert emitted(caplog) == [15120, 15061]


@pytest.mark.parametrize(("error", "ids"), [(BacklogRefused("no"), [15020]), (ChangesLost("no"), [15020]), (KafkaUnavailable("no"), [])])
def test_the_backlog_is_named_where_it_ends_a_run(error: IgniteKafkaError, ids: list[int], caplog: pytest.LogCaptureFixture) -> None:
    report_end(error)
    assert emitted(caplog) == ids
