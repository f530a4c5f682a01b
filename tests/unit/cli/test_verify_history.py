"""The history of comparisons as text and as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ignite_kafka.admin import comparison_history
from ignite_kafka.admin.comparison_history import ConnectorComparisons, read_comparisons
from ignite_kafka.cli import main
from ignite_kafka.cli.verify_history import history_text
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.state.comparison_history import ComparisonHistory, PastComparison
from tests.support.json_output import check_value

NOON = 1_764_244_800_000  # 2025-11-27T12:00:00Z
DAY = 86_400_000
FIRST = PastComparison("v1", NOON - DAY, NOON - DAY + 5_000, 5.0, 2, 100, 100)
LAST = PastComparison(
    "v2", NOON, NOON + 90_000, 5.0, 2, 100, 101, 1, 2, 0, 0, 0, 0, False, NOON - 3 * DAY, 7 * DAY, "cache x: 5.00% every 1 d"
)


@pytest.fixture
def history(monkeypatch: pytest.MonkeyPatch) -> ConnectorComparisons:
    records = ComparisonHistory({"v1": FIRST, "v2": LAST})
    monkeypatch.setattr(comparison_history, "read_history", lambda *_: records)
    return read_comparisons(KafkaClients({}), "p", "c")


def test_the_newest_comparison_is_the_first_row(history: ConnectorComparisons) -> None:
    head, _, newest, oldest, *rest = history_text(history).splitlines()
    assert head.split()[:3] == ["compared", "took", "keys"]
    assert newest.split() == ["2025-11-27T12:00:00.000Z", "90", "s", "5", "2", "100", "1", "2", "0", "0", "NO"]
    assert oldest.split()[0] == "2025-11-26T12:00:00.000Z"
    assert rest == [
        "all keys of 2 caches were compared since 2025-11-24T12:00:00.000Z; to be compared within 7 d",
        "not in time: cache x: 5.00% every 1 d",
    ]


def test_json_has_times_as_texts(history: ConnectorComparisons) -> None:
    shown = json.loads(json.dumps(history.to_dict()))
    check_value("verify history", shown)
    newest, oldest = shown["comparisons"]
    assert (newest["id"], newest["started"], newest["oldest"]) == ("v2", "2025-11-27T12:00:00.000Z", "2025-11-24T12:00:00.000Z")
    assert (oldest["equal"], oldest["oldest"]) == (True, None)
    assert not any(name.endswith("_ms") and name != "within_ms" for name in newest)


def test_keys_that_were_never_compared_are_named() -> None:
    assert history_text(ConnectorComparisons("c", ())) == "connector c was never compared"
    assert history_text(ConnectorComparisons("c", (FIRST,))).endswith("some keys of 2 caches were never compared")


def test_the_command_shows_the_history(history: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(comparison_history, "comparisons_of", lambda settings, _secrets: history if settings.name == "c" else None)
    assert main.main(["verify", "history", "c", "--kafka", "127.0.0.1:1"]) == 0
    assert capsys.readouterr().out == f"{history_text(history)}\n"
