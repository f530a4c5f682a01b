"""Enum constants by full names: of fields whose enum the cluster's metadata does not name."""

from __future__ import annotations

from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo
from tests.support.connect_records import converted, plain, struct
from tests.support.to_ignite_records import GrowingTypes, decoded


def test_the_full_name_says_the_enum() -> None:
    types = GrowingTypes()
    types.add("org.Color", {}, enum=["RED", "GREEN"])
    types.add("org.Size", {}, enum=["RED"])
    types.add("org.Point", {"RED": codes.INT})
    types.add("org.Shirt", {"n": codes.INT, "e": codes.ENUM})
    schema = struct("org.Shirt", e=plain("string"), n=plain("int32"))
    texts = ["org.Color.GREEN", None, "org.Size.RED", "org.Color.GREEN", "Color.GREEN", "GREEN", "org.color.GREEN", "org.Point.RED", ""]
    entries = converted(CacheInfo("free", 2), types, [(schema, {"n": 1, "e": text}) for text in texts])
    assert [(bad.row, bad.reason.partition(":")[0]) for bad in entries.bad] == [
        (row, f"field e is {texts[row]} (STRING), which an enum that no query entity names does not hold") for row in range(4, 9)
    ]
    found = [value.fields["e"] for _, value in decoded(entries, types)]
    assert [one and (one.type_name, one.name) for one in found] == [
        ("org.Color", "GREEN"), None, ("org.Size", "RED"), ("org.Color", "GREEN"),
    ]  # fmt: skip


def test_an_ordinal_says_no_enum() -> None:
    types = GrowingTypes()
    types.add("org.Shirt", {"e": codes.ENUM})
    entries = converted(CacheInfo("free", 2), types, [(struct("org.Shirt", e=plain("int32")), {"e": 1})])
    assert [bad.reason for bad in entries.bad] == ["field e is of an enum that no query entity names"]
