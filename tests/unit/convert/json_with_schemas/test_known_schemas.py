"""Schemas that are kept while they are used."""

from __future__ import annotations

import pytest

from ignite_kafka.convert.connect.schema import ConnectSchema, ConnectType
from ignite_kafka.convert.json.values import Refused
from ignite_kafka.convert.json_with_schemas.known_schemas import KnownSchemas


def test_the_schemas_used_last_are_kept() -> None:
    asked: list[str] = []

    def schema_of(text: str) -> ConnectSchema:
        asked.append(text)
        if text == "bad":
            raise Refused("it is no schema")
        return ConnectSchema(ConnectType.INT64, doc=text)

    known = KnownSchemas(schema_of, 2, defaults=True)
    for _ in range(2):
        with pytest.raises(Refused, match="it is no schema"):
            known.get("bad")
    for text in ("a", "bad", "b", "a", "a"):
        if text != "bad":
            assert known.get(text).schema == schema_of_doc(text)
            continue
        with pytest.raises(Refused):
            known.get(text)
    assert asked == ["bad", "a", "b", "a"]


def schema_of_doc(text: str) -> ConnectSchema:
    return ConnectSchema(ConnectType.INT64, doc=text)
