"""A copy is judged by a reader of its own: what the columns write is found equal, in every form that the settings give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ignite_kafka.convert import converter
from ignite_kafka.pipelines import verify as module
from ignite_kafka.pipelines.verify import Verified, canonical, verify
from ignite_kafka.plan import CachePlan, TransferPlan
from ignite_kafka.settings import SourceSettings
from ignite_kafka.thin import codes
from ignite_kafka.thin.codec.values import EnumValue
from ignite_kafka.thin.model import CacheInfo, QueryEntity, QueryField
from tests.support.bad_entries import long
from tests.support.codec_bytes import CACHE, Types, binary, decimal, enum, number, page

DECIMALS = [
    Decimal(text) for text in ("1E+5", "-1E+5", "1.50", "1.5", "5", "-0.25", "0.00", "12345678901234567890.123456789", "0E+3", "2.00")
]


@dataclass
class OneCache(Types):
    """A cluster of one cache."""

    info: CacheInfo = field(default=CACHE)

    def cache(self, name: str) -> CacheInfo:
        return self.info


def copied(
    monkeypatch: pytest.MonkeyPatch, types: OneCache, entries: Sequence[tuple[bytes, bytes]], changed: bytes = b"", **settings: Any
) -> Verified:
    """The verdict about a topic that has what the columns make of the entries; of `changed`, the first record's value."""
    plan = TransferPlan("c", "s", 0, 1, SourceSettings(name="c", **settings), (CachePlan(CACHE.name, 1, "t", 1, 1),))
    chosen = converter("json", decimal_format=plan.settings.decimal_format, enum_policy=plan.settings.enum_policy)
    pages = [page(entries, 0)]
    records = chosen.convert(pages, types.info, cast(Any, types))
    values = records.values.to_pylist()
    values[:1] = [changed or values[0]]
    messages = [
        SimpleNamespace(key=lambda key=key: key, value=lambda value=value: value)
        for key, value in zip(records.keys.to_pylist(), values, strict=True)
    ]
    monkeypatch.setattr(module, "Topics", lambda _: SimpleNamespace(partitions=lambda _: 1))
    monkeypatch.setattr(module, "read_to_end", lambda *_: iter(messages))
    monkeypatch.setattr(module, "scan_partitions", lambda *_, **__: iter(pages))
    (result,) = verify(plan, cast(Any, types), cast(Any, None))
    return result


def is_equal(found: Verified, count: int) -> None:
    assert (found.equal, found.entries, found.records, found.repeated) == (True, count, count, 0), found


@pytest.mark.parametrize("name", ["Color", "org.example.Color", "org.example.Paint$Color"])
@pytest.mark.parametrize("policy", ["ORDINAL", "SHORT_NAME", "LONG_NAME", "FULL_NAME"])
def test_enums_in_keys_and_values(monkeypatch: pytest.MonkeyPatch, policy: str, name: str) -> None:
    types = OneCache()
    color = types.add(name, {}, enum=("RED", "BLUE"))
    car = types.add("Car", {"color": codes.ENUM})
    red, blue = (enum(EnumValue(color.type_id, ordinal, "")) for ordinal in (0, 1))
    entries = [(red, binary(car, {"color": blue})), (blue, binary(car, {"color": red}))]
    is_equal(copied(monkeypatch, types, entries, enum_policy=policy), 2)
    wrong = copied(monkeypatch, types, entries, b'{"color":"GREEN"}', enum_policy=policy)
    assert (wrong.different, wrong.missing, wrong.unexpected) == (1, 0, 0)


@pytest.mark.parametrize("decimal_format", ["BASE64", "NUMERIC"])
def test_decimals_of_any_scale(monkeypatch: pytest.MonkeyPatch, decimal_format: str) -> None:
    entries = [(long(row), decimal(value)) for row, value in enumerate(DECIMALS)]
    is_equal(copied(monkeypatch, OneCache(), entries, decimal_format=decimal_format), len(DECIMALS))

    assert copied(monkeypatch, OneCache(), entries, b"7", decimal_format=decimal_format).different == 1


def test_decimals_of_a_declared_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = (QueryField("ID", "java.math.BigDecimal", is_key=True, scale=1), QueryField("IN.D", "java.math.BigDecimal", scale=2))
    types = OneCache(info=replace(CACHE, query_entities=(QueryEntity("Key", "Price", fields=columns),)))
    key, price, inner = (
        types.add("Key", {"ID": codes.DECIMAL}),
        types.add("Price", {"IN": codes.OBJECT}),
        types.add("In", {"D": codes.DECIMAL}),
    )
    entries = [
        (binary(key, {"ID": decimal(Decimal(row))}), binary(price, {"IN": binary(inner, {"D": decimal(value)})}))
        for row, value in enumerate(map(Decimal, ("12.5", "3", "-0.010", "1E+3")))
    ]
    is_equal(copied(monkeypatch, types, entries), 4)
    as_it_was_written_before = b'{"IN":{"D":"fQ=="}}'  # 12.5 at its own scale
    assert copied(monkeypatch, types, entries, as_it_was_written_before).different == 1


def test_decimals_beside_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    types = OneCache()
    kind = types.add("Price", {"price": codes.DECIMAL, "rate": codes.DOUBLE})
    value = binary(kind, {"price": decimal(Decimal("5")), "rate": number(codes.DOUBLE, 0.1)})
    is_equal(copied(monkeypatch, types, [(long(1), value)], decimal_format="NUMERIC"), 1)


def test_keys_that_are_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    decimals = [(decimal(value), long(1)) for value in DECIMALS]
    is_equal(copied(monkeypatch, OneCache(), decimals, decimal_format="NUMERIC"), len(DECIMALS))
    floats = [(number(codes.DOUBLE, value), long(1)) for value in (0.1, 5.0, 1e15, 1e16, 1e5, 1e300, 5e-324, -1.5, 0.0)]
    is_equal(copied(monkeypatch, OneCache(), floats), len(floats))


def test_texts_of_one_key_are_one() -> None:
    assert canonical(b'{"b": 1, "a": [1e3]}') == canonical(b'{"a":[1000.0],"b":1}')
    assert len({canonical(text) for text in (b"1.5", b"1.50", b'"1.5"', b"1", b"1.0", b"true", b"null")}) == 7
