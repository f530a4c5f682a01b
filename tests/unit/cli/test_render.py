"""Results of admin as text."""

from __future__ import annotations

from ignite_kafka.admin.backlog import BacklogView, CacheCapture, CleanupResult, Resend, UnitBacklog
from ignite_kafka.cli import render


def test_a_backlog_as_text() -> None:
    units = tuple(UnitBacklog("trades", partition, 7, 2, 100, 1, 5, ("lost",) if partition == 3 else ()) for partition in range(60))
    text = render.backlog(BacklogView("c", 9, 2, (CacheCapture("trades", 7, 60), CacheCapture("gone", None, 0)), ("n entries=1",), units))
    assert "connector c, capture 9, registered by 2 nodes\nnode n entries=1\n" in text
    assert "120 changes of 6,000 bytes in 60 units, 1 marked" in text
    assert text.endswith("... and 10 units more: --json shows all")
    assert render.backlog(BacklogView("c", 9, 2, (), (), ())).endswith("0 changes of 0 bytes in 0 units, 0 marked")


def test_what_was_done_as_text() -> None:
    assert render.cleaned(CleanupResult("c", "s-c", "b-c")) == "connector c: removed service s-c and cache b-c"
    assert render.cleaned(CleanupResult("c", "s-c", None)) == "connector c: removed service s-c"
    assert render.cleaned(CleanupResult("c", None, None)) == "connector c: there was no backlog"
    assert render.resend(Resend("c", "trades", (3,))).startswith("cache trades: partition 3 will be sent again by connector c")
    assert render.resend(Resend("c", "trades", tuple(range(4)))).startswith("cache trades: 4 partitions will be sent again")
