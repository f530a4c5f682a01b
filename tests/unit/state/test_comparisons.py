"""Records of comparisons: results stay below the size of a record without losing counts, and the newest records are kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ignite_kafka.common.typed_json import dumps
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.topics import Topics
from ignite_kafka.state import comparisons, internal_records
from ignite_kafka.state.comparisons import KEPT, MOST_RESULT_BYTES, ComparisonStatus, bounded, forget_comparisons
from ignite_kafka.state.status import COMPLETED
from tests.support.fake_messages import FakeMessage


def cache(name: str, texts: int, size: int) -> dict[str, Any]:
    return {"cache": name, "missing": texts, "differences": [{"kind": "missing", "text": "x" * size} for _ in range(texts)]}


def test_a_small_result_is_unchanged() -> None:
    result = {"equal": False, "caches": [cache("a", 3, 10), cache("b", 0, 0)]}
    assert bounded(result) == result


def test_texts_are_left_out_from_the_last_cache_on() -> None:
    result: dict[str, Any] = {
        "equal": False,
        "caches": [cache("a", 3, 1_000), cache("b", 3, 1_000), cache("c", 0, 0), cache("d", 3, 1_000)],
    }
    made = bounded(result, 5_000)
    assert len(json.dumps(made)) < 5_500
    assert [(one["cache"], one["missing"]) for one in made["caches"]] == [("a", 3), ("b", 3), ("c", 0), ("d", 3)]
    assert made["caches"][0] == result["caches"][0]
    assert made["caches"][3]["differences"] == [{"kind": "missing", "text": "3 texts are left out: the result is too large"}]
    assert len(result["caches"][3]["differences"]) == 3, "the argument is not changed"


@pytest.mark.parametrize("caches", [1, 30])
def test_the_first_texts_of_a_cache_are_kept_in_a_result_of_any_size(caches: int) -> None:
    result: dict[str, Any] = {"equal": False, "caches": [cache(f"c{number}", 1_000, 1_000) for number in range(caches)]}
    written = bounded(result)
    assert MOST_RESULT_BYTES - 2_000 < len(dumps(written)) <= MOST_RESULT_BYTES
    first, *others = written["caches"]
    *kept, note = first["differences"]
    assert kept == result["caches"][0]["differences"][: len(kept)]
    assert len(kept) > 800
    assert note["text"].startswith(f"{1_000 - len(kept)} texts are left out")
    assert [len(other["differences"]) for other in others] == [1] * len(others)
    assert {counted["missing"] for counted in written["caches"]} == {1_000}


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> list[FakeMessage]:
    """Records of the status topic; what is forgotten is appended as a tombstone."""
    messages: list[FakeMessage] = []

    class Writer:
        def __init__(self, *_: Any) -> None:
            """Write to these records."""

        def forget(self, connector: str, run_ids: list[str], kind: str) -> None:
            messages.extend(FakeMessage(dumps([kind, connector, run_id]), None) for run_id in run_ids)

    monkeypatch.setattr(comparisons, "StatusWriter", Writer)
    monkeypatch.setattr(internal_records, "read_to_end", lambda *_: iter(list(messages)))
    monkeypatch.setattr(Topics, "exists", lambda *_: True)
    return messages


def compared(connector: str, run_id: str) -> FakeMessage:
    return FakeMessage(dumps(["verify", connector, run_id]), ComparisonStatus(COMPLETED, connector, run_id).to_json())


def test_the_newest_comparisons_of_a_connector_are_kept(topic: list[FakeMessage]) -> None:
    names = [f"r{number}" for number in range(KEPT + 2)]
    hostile = [FakeMessage(key, b"{}") for key in (b'["verify","c",5]', b'["verify","c"]', b'["verify","c","x","y"]', b"no JSON")]
    gone = FakeMessage(dumps(["verify", "c", "gone"]), None)
    run = FakeMessage(dumps(["run", "c", "r0"]), b"{}")
    topic.extend([run, gone, *hostile, compared("other", "r0"), *(compared("c", name) for name in names), compared("c", "r0")])
    before = len(topic)
    forget_comparisons(KafkaClients({}), "p", "c")
    assert [message.key() for message in topic[before:]] == [dumps(["verify", "c", name]) for name in ("r1", "r2")]


def test_a_status_is_read_as_it_was_written() -> None:
    status = ComparisonStatus(COMPLETED, "c", "r", "comparing", 3, 9, 5, 7, {"caches": [cache("a", 1, 5)]})
    assert ComparisonStatus.from_dict(json.loads(status.to_json())) == status
    with pytest.raises(ValueError, match="done"):
        ComparisonStatus.from_dict({**json.loads(status.to_json()), "done": "many"})
    with pytest.raises(ValueError, match="error"):
        ComparisonStatus.from_dict({**json.loads(status.to_json()), "error": {"what": 5}})
