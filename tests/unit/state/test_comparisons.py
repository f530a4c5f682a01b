"""Results of comparisons stay below the size of a record: texts of differences are left out, counts never."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ignite_kafka.state.comparisons import ComparisonStatus, bounded
from ignite_kafka.state.status import COMPLETED


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


def test_a_status_is_read_as_it_was_written() -> None:
    status = ComparisonStatus(COMPLETED, "c", "r", "comparing", 3, 9, 5, 7, {"caches": [cache("a", 1, 5)]})
    assert ComparisonStatus.from_dict(json.loads(status.to_json())) == status
    with pytest.raises(ValueError, match="done"):
        ComparisonStatus.from_dict({**json.loads(status.to_json()), "done": "many"})
    with pytest.raises(ValueError, match="error"):
        ComparisonStatus.from_dict({**json.loads(status.to_json()), "error": {"what": 5}})
