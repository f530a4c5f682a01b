"""Records that another program may write to an internal topic: keys and values that none of this program's records have."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from ignite_kafka.common.typed_json import MOST_BYTES

DEEP = b"[" * 1_200
DIGITS = b"9" * 5_000
KEYS = [
    DEEP,
    b'{"a":' * 1_200,
    DEEP + b"]" * 1_200,
    b"[" * 70 + b"]" * 70,
    b'["run","c",["x"]]',
    b'["run","c",{}]',
    b'["run","c",null]',
    b'["run","c",true]',
    b'["run","c",1e30]',
    b'["run","c",NaN]',
    b'["snapshot","c",[]]',
    b'["snapshot","c",7]',
    b'["snapshot","c","x","y"]',
    b'["progress","c","x"]',
    b'["progress","c",[0]]',
    b'["run",{},"r"]',
    b'["run","c",%b]' % DIGITS,
    b'["run","c",%b]' % (b"9" * 1_000),
    b'["run","\\ud800","r"]',
    b"\xff\xfe[\x00",
    '["run","c","r"]'.encode("utf-16"),
    b'["run","\xed\xa0\x80","r"]',
    b'["run","' + b"c" * MOST_BYTES + b'","r"]',
]
"""Keys; the connector's name is ``c`` where there is one."""

STATUS: dict[str, Any] = {"state": "RUNNING", "connector": "c", "run_id": "r", "started_ms": 1, "caches": {"a": {"topic": "t"}}}
_CHANGES: list[dict[str, Any]] = [
    {"state": [1]},
    {"state": None},
    {"connector": 5},
    {"run_id": ["r"]},
    {"generation": "1"},
    {"generation": True},
    {"worker": {}},
    {"started_ms": 1e30},
    {"started_ms": 10**30},
    {"started_ms": -1},
    {"started_ms": "x"},
    {"started_ms": float("nan")},
    {"ended_ms": 10**15},
    {"ended_ms": []},
    {"caches": []},
    {"caches": {"a": 5}},
    {"caches": {"a": {}}},
    {"error": 5},
    {"error": "x"},
    {"error": {"what": 5}},
    {"error": {"where": [1]}},
    {"error": {"where": {"cache": [1]}}},
    {"error": {"type": ["x"]}},
    {"already_complete": "yes"},
    {"application_id": 5},
    {"spark_ui": ["x"]},
    {"events": [1]},
    {"events": {"1": "x"}},
    *(
        {"caches": {"a": {"topic": "t", field: wrong}}}
        for field in ("entries", "records", "bytes", "units", "units_done", "bad", "filtered")
        for wrong in ("x", 1.5, 10**30, None, True, [1])
    ),
    *({"caches": {"a": {"topic": "t", "seconds": wrong}}} for wrong in (float("nan"), float("inf"), 10**400, "x", True, None)),
    {"caches": {"a": {"topic": 5}}},
]
ILL_TYPED = [{**STATUS, **wrong} for wrong in _CHANGES]
"""Status records with one field of another type or out of range."""

VALUES = [
    DEEP,
    b'{"a":' * 100_000,
    b'{"a":%b}' % DIGITS,
    b'{"state":"\xff"}',
    json.dumps(STATUS).encode("utf-16"),
    b'{"a":"' + b"x" * MOST_BYTES + b'"}',
    *(json.dumps(value).encode() for value in ILL_TYPED),
]
"""Values that are no status."""

ODD = {
    **STATUS,
    "state": "\ud800",
    "worker": "\udfff",
    "spark_ui": "javascript:alert(1)",
    "ended_ms": 2,
    "events": {"\ud800": 1},
    "caches": {"\ud800": {"topic": "\ud800", "records": -(1 << 63), "bytes": (1 << 63) - 1}},
    "error": {"type": "Fenced", "what": "\ud800", "remedy": "", "where": {"what": "x", "self": 1, "remedy": True, "\ud800": 2.5}},
}
"""A status of the right types with texts and numbers at their limits."""

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.sampled_from(["c", "run", "r", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*STATUS, "what", "where", "a"]) | st.text(), inner, max_size=6)
    ),
)
"""Any JSON value."""


def encoded(value: Any) -> bytes:
    """Return the JSON of a value."""
    return json.dumps(value).encode()
