"""Two error policies of a sink: for what converters refuse, and for the connector's own errors."""

from __future__ import annotations

import pytest

from tests.support.sink_stores import Caches, make_plan, make_store
from tests.support.to_ignite_records import consumed
from tests.support.types_log import NAME, TypesLog

BROKEN, KEYLESS, FINE = (b"1", b'{"n":'), (None, b'{"n":1}'), (b"2", b'{"n":2}')
"""Records that its converter cannot read, that makes no entry, and that is stored."""


@pytest.mark.parametrize(
    ("policy", "conversions", "records", "skipped", "stopped"),
    [
        ("STOP_TASK", "LOG_ONLY", (FINE, BROKEN, FINE, KEYLESS, FINE), [1], 103),
        ("STOP_TASK", "LOG_ONLY", (FINE, KEYLESS, BROKEN), [], 101),
        ("LOG_ONLY", "STOP_TASK", (FINE, KEYLESS, FINE, BROKEN, FINE), [1], 103),
        ("LOG_ONLY", "STOP_TASK", (FINE, BROKEN, KEYLESS), [], 101),
        ("LOG_ONLY", "", (FINE, BROKEN, KEYLESS, FINE), [1, 2], None),
        ("STOP_TASK", "", (FINE, KEYLESS, BROKEN), [], 101),
    ],
)
@pytest.mark.parametrize("in_order", [False, True])
def test_each_policy_is_for_its_errors(
    monkeypatch: pytest.MonkeyPatch,
    policy: str,
    conversions: str,
    records: tuple[tuple[bytes | None, bytes], ...],
    skipped: list[int],
    stopped: int | None,
    *,
    in_order: bool,
) -> None:
    caches = Caches()
    caches.replace_cluster(monkeypatch, TypesLog())
    plan = make_plan(types_topic=NAME, error_handling_policy=policy, conversion_error_policy=conversions)
    store = make_store(plan, caches, in_order=in_order)
    stored = store.store([consumed([value for _, value in records], [key for key, _ in records])])
    assert [one.row for _, bad in stored.skipped for one in bad] == skipped
    assert [error.where["offset"] for error in stored.stopped.values()] == ([] if stopped is None else [stopped])
    before = records if stopped is None else records[: stopped - 100]
    assert stored.entries == {("topic", 3): before.count(FINE)}
