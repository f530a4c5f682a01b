"""Records to entries: good neighbours of bad records, removals, names, fields that records add."""

from __future__ import annotations

import json

import pytest

from ignite_kafka.convert.ignite_types.object_types import ObjectTypes
from ignite_kafka.convert.to_ignite import Stage
from ignite_kafka.errors import TypeClash, UnsupportedType
from ignite_kafka.ignite.binary.row_values import Document, SqlDate, Timestamp
from ignite_kafka.ignite.types.model import CacheInfo, QueryEntity, QueryField
from ignite_kafka.java.hash_code import java_hash
from tests.support.to_ignite_records import TRADE, GrowingTypes, cache_of, consumed, decoded, record_converter, rules

TRADES = cache_of(TRADE)
GOOD = b'{"id":1,"symbol":"a","price":1.5,"qty":3,"ts":1000,"note":null}'
FIELDS = {"id": 1, "symbol": "a", "price": 1.5, "qty": 3, "ts": Timestamp(1, 0), "note": None}
FREE = CacheInfo("free", 2)

BAD = [
    (b"", "no bytes at all"),
    (b'{"id":1', "not JSON: Expecting ',' delimiter at character 7"),
    (b'{"symbol":"a}', "not JSON: Unterminated string"),
    (b'{"symbol":"a\n', "not JSON: Invalid control character"),
    (b'{"id":1}}', "not JSON: Extra data at character 8"),
    (b'{"id":1}{"id":2}', "not JSON: Extra data at character 8"),
    (b'{"id":1} null {"id":2}', "not JSON: Extra data"),
    (b'{"id":1}\0}', "not JSON: Extra data"),
    (b'{"id":1,"id":2}', "the name 'id' stands twice"),
    (b'{"id":1,"ID":2}', "field ID and id are one field for Ignite"),
    (b'{"symbol":"\xff"}', "not UTF-8 at byte 11"),
    (b'{"symbol":"\\ud800"}', "field symbol has half of a surrogate pair"),
    (b"[1]", "a JSON array where an object is due"),
    (b"5", "a JSON number where an object is due"),
    (b'"text"', "a JSON text where an object is due"),
    (b'{"id":1.0}', "field id is 1.0, which is no integer"),
    (b'{"id":9223372036854775808}', "field id is 9223372036854775808, outside of"),
    (b'{"id":' + b"9" * 5000 + b"}", r"field id is 9{37}\.\.\., which is no integer"),
    (b'{"qty":2147483648}', "field qty is 2147483648, outside of -2147483648 to 2147483647"),
    (b'{"qty":"3"}', "field qty is a JSON text where a number is due"),
    (b'{"qty":true}', "field qty is a JSON boolean where a number is due"),
    (b'{"symbol":3}', "field symbol is a JSON number where a text is due"),
    (b'{"price":NaN}', "NaN without quotes"),
    (b'{"price":1e999}', "field price is 1e999, which is beyond a double"),
    (b'{"ts":9223372036854775807}', "field ts is 9223372036854775807, outside of"),
    (b'{"ts":{"at":1}}', "field ts is a JSON object where a number is due"),
    (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "nested too deep"),  # Python 3.13 reads 5,000 levels
    (b'{"a":' * 300 + b"1" + b"}" * 300, r"field a\.a\.a.* is nested deeper than 64"),
    (b'{"a":' + b"[" * 300 + b"]" * 300 + b"}", r"field a\[0\]\[0\].* is nested deeper than 64"),
]


def test_a_key_of_a_map_that_is_no_unicode_is_named_by_its_escape() -> None:
    entries = record_converter(cache_of({"m": "java.util.Map"}), GrowingTypes(), rules(), topic="t").convert(
        consumed([b'{"m":{"\\ud83d":1}}', b'{"m":{"a":1}}'])
    )
    assert [(bad.row, bad.reason) for bad in entries.bad] == [(0, r"field m.\ud83d has half of a surrogate pair")]


def is_json(text: bytes) -> bool:
    """Whether the converter alone can read it, so that only its types are wrong."""
    try:
        json.loads(text, parse_constant=refuse, parse_int=str)
    except (ValueError, RecursionError):
        return False
    return True


def refuse(constant: str) -> None:
    raise ValueError(constant)


@pytest.mark.parametrize("together", [3, 2000])
@pytest.mark.parametrize(("text", "reason"), BAD, ids=[repr(text[:24]) for text, _ in BAD])
def test_a_bad_record_is_named_and_its_neighbours_are_kept(text: bytes, reason: str, together: int) -> None:
    types = GrowingTypes()
    texts = [GOOD] * together
    texts[1] = text
    entries = record_converter(TRADES, types).convert(consumed(texts))
    (bad,) = entries.bad
    assert (bad.row, bad.stage, bad.where) == (1, Stage.PUT, {"part": "value"}) if is_json(text) else (1, Stage.VALUE, {})
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(entries.bad[0].reason)
    assert entries.rows.tolist() == [row for row in range(together) if row != 1]
    assert [(key, value.fields) for key, value in decoded(entries, types)] == [(row, FIELDS) for row in entries.rows]


@pytest.mark.parametrize("number", ["1E+99999999999999999999", "-1e-99999999999999999999", "0e-9999999999999999999", "1e99999"])
@pytest.mark.parametrize("scale", [-1, 2])
def test_a_decimal_whose_exponent_nothing_holds_is_a_bad_record(number: str, scale: int) -> None:
    converter = record_converter(cache_of({"d": "java.math.BigDecimal"}, scale=scale), GrowingTypes(), rules(decimal_format="NUMERIC"))
    entries = converter.convert(consumed([b'{"d":1.25}', f'{{"d":{number}}}'.encode(), b'{"d":2.5}']))
    assert entries.rows.tolist() == [0, 2]
    assert [(bad.row, bad.reason) for bad in entries.bad] == [(1, "field d is a decimal of more than 40000 digits")]


def test_every_other_record_bad() -> None:
    types = GrowingTypes()
    entries = record_converter(TRADES, types).convert(consumed([GOOD, b'{"qty":1.5}'] * 1500))
    assert entries.rows.tolist() == list(range(0, 3000, 2))
    assert [bad.row for bad in entries.bad] == list(range(1, 3000, 2))


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        (b'{\n  "id": 9007199254740993,\n  "qty": 1\n}\n', "id", 9007199254740993),
        (b'{"id":-9223372036854775808}', "id", -(2**63)),
        (b'{"symbol":"\\ud83d\\ude00\\u0000\\n"}', "symbol", "😀\0\n"),
        (b'{"symbol":"}\\n{"}', "symbol", "}\n{"),
        (b'{"price":9007199254740993}', "price", 9007199254740992.0),
        (b'{"price":"-Infinity"}', "price", float("-inf")),
        (b"{}", "id", None),
        (b'{"QTY":5}', "qty", 5),
    ],
)
def test_forms_that_are_right(text: bytes, name: str, value: object) -> None:
    types = GrowingTypes()
    entries = record_converter(TRADES, types).convert(consumed([GOOD, text, GOOD]))
    assert not entries.bad
    assert decoded(entries, types)[1][1].fields[name] == value


def test_a_null_value_removes_its_key_and_so_does_json_null() -> None:
    types = GrowingTypes()
    entries = record_converter(TRADES, types).convert(consumed([None, b"null", b" null ", GOOD]))
    assert [(key, value and value.fields) for key, value in decoded(entries, types)] == [(0, None), (1, None), (2, None), (3, FIELDS)]
    assert entries.values.null_count == 3


def test_of_a_bad_record_nothing_is_learned() -> None:
    types = GrowingTypes()
    converter = record_converter(TRADES, types)
    entries = converter.convert(consumed([b'{"wrong":1,"deep":{"er":{"x":1}},"list":[1],"qty":"x"}', GOOD, b'{"wrong":"text"}']))
    assert [bad.row for bad in entries.bad] == [0]
    assert decoded(entries, types)[1][1].fields["wrong"] == "text"
    assert [kind.name for kind in types.known.values()] == ["Trade"]


def test_objects_and_arrays_within_each_other_sixty_times() -> None:
    types = GrowingTypes()
    texts = [b'{"o":' * 60 + b"1" + b"}" * 60, b'{"l":' + b"[" * 60 + b"]" * 60 + b"}"]
    entries = record_converter(TRADES, types).convert(consumed(texts))
    assert not entries.bad
    (_, first), (_, second) = decoded(entries, types)
    depth, inner = 0, first.fields["o"]
    while isinstance(inner, Document):
        depth, inner = depth + 1, inner.fields["o"]
    assert (depth, inner) == (59, 1)
    assert str(second.fields["l"]) == "[" * 60 + "]" * 60


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (None, "the record has no key, and key_policy is key"),
        (b"null", "the key is null"),
        (b"abc", "not JSON.*plain text needs a converter of its own"),
        (b'"1"', "a JSON text where a number is due"),
        (b"1.0", "is no integer"),
        (b"1,2", "not JSON"),
        (b'1,"":2', "not JSON"),
        (b'1}\n{"":2', "not JSON"),
        (b"", "no bytes at all"),
    ],
)
def test_a_key_that_is_none_is_named(key: bytes | None, reason: str) -> None:
    for value in (GOOD, None):
        entries = record_converter(TRADES, GrowingTypes()).convert(consumed([GOOD, value, GOOD], [b"7", key, b"9"]))
        assert entries.rows.tolist() == [0, 2]
        (bad,) = entries.bad
        assert (bad.row, bad.stage) == (1, Stage.PUT if key is None or is_json(key) else Stage.KEY)
        with pytest.raises(AssertionError, match=reason):
            raise AssertionError(bad.reason)


def test_no_records_are_no_entries() -> None:
    for cache in (TRADES, FREE):
        assert len(record_converter(cache, GrowingTypes()).convert(consumed([]))) == 0


def test_fields_that_the_query_entity_lacks_extend_the_type() -> None:
    types = GrowingTypes()
    converter = record_converter(TRADES, types)
    entries = converter.convert(consumed([GOOD, b'{"id":2,"more":{"deep":1},"tags":["x",1,null,{"a":2}],"void":null}', GOOD]))
    assert not entries.bad
    second = decoded(entries, types)[1][1].fields
    assert second["more"].type_name == "Trade.more"
    assert second["more"].fields == {"deep": 1}
    assert second["tags"][:3] == ["x", 1, None]
    assert second["tags"][3].fields == {"a": 2}
    assert "void" not in second
    assert {field.name for field in types.known[java_hash("trade")].fields} == {*TRADE, "more", "tags"}
    later = converter.convert(consumed([b'{"void":true}']))
    assert decoded(later, types)[0][1].fields["void"] is True


def test_sql_spells_in_capitals_what_records_spell_otherwise() -> None:
    types = GrowingTypes()
    converter = record_converter(cache_of({name.upper(): kind for name, kind in TRADE.items()}), types)
    for _ in range(2):
        entries = converter.convert(consumed([GOOD] * 50))
        assert not entries.bad
        assert decoded(entries, types)[7][1].fields == {name.upper(): value for name, value in FIELDS.items()}


def test_columns_that_are_the_key_or_nested_are_not_declared_for_the_value() -> None:
    columns = (
        QueryField("ID", "java.lang.Long", is_key=True), QueryField("NAME", "java.lang.String", not_null=True),
        QueryField("WHOLE", "java.lang.Long"), QueryField("ADDRESS.CITY", "java.lang.String"),
    )  # fmt: skip
    entity = QueryEntity("java.lang.Long", "Person", key_field="WHOLE", fields=columns)
    types = GrowingTypes()
    entries = record_converter(CacheInfo("people", 1, query_entities=(entity,)), types).convert(
        consumed([b'{"NAME":"a"}', b'{"NAME":null}', b"{}"])
    )
    assert decoded(entries, types)[0][1].fields == {"NAME": "a"}
    assert [(bad.row, bad.reason) for bad in entries.bad] == [(row, "field NAME is null, which its type does not allow") for row in (1, 2)]


def test_fields_are_written_in_the_order_of_the_fullest_schema() -> None:
    types = GrowingTypes()
    types.add("Trade", {"qty": 3, "id": 4, "a": 9, "symbol": 9}, ["id"], ["symbol", "id", "qty"], ["id", "qty"])
    assert [field.name for field in ObjectTypes(types).fields("Trade")] == ["symbol", "id", "qty", "a"]


def test_a_query_entity_that_contradicts_the_cluster_keeps_the_clusters_type() -> None:
    types = GrowingTypes()
    types.add("Trade", {"id": 4, "qty": 9})
    entries = record_converter(TRADES, types).convert(consumed([b'{"id":1,"qty":"three"}', b'{"qty":3}']))
    assert decoded(entries, types)[0][1].fields["qty"] == "three"
    assert [bad.reason for bad in entries.bad] == ["field qty is a JSON number where a text is due"]


def test_records_with_nothing_in_common_end() -> None:
    types = GrowingTypes()
    values = [json.dumps({f"name{row}": row}).encode() for row in range(100)]
    entries = record_converter(FREE, types).convert(consumed(values))
    assert not entries.bad
    assert [value.fields[f"name{row}"] for row, (_, value) in enumerate(decoded(entries, types))] == list(range(100))


def test_types_that_records_do_not_tell_apart_are_refused_at_once() -> None:
    entity = QueryEntity("java.lang.Long", "A")
    with pytest.raises(UnsupportedType, match=r"2 query entities.*ignite-binary.*|2 query entities"):
        record_converter(CacheInfo("two", 1, query_entities=(entity, entity)), GrowingTypes())
    with pytest.raises(UnsupportedType, match=r"java\.time\.LocalDate \(field day\), which no JSON is turned into"):
        record_converter(cache_of({"day": "java.time.LocalDate"}), GrowingTypes())


def test_a_declared_type_that_the_cluster_refuses_is_an_error() -> None:
    class Refusing(GrowingTypes):
        def register(self, kind, **_):  # type: ignore[no-untyped-def]
            raise TypeClash("field id is of another type")

    with pytest.raises(TypeClash):
        record_converter(TRADES, Refusing()).convert(consumed([GOOD]))


@pytest.mark.parametrize("text", [b'{"d":20000}', b'{"d":20000,"id":1}'])
def test_a_sql_date_is_midnight_in_the_time_zone_of_the_rules(text: bytes) -> None:
    types, cache = GrowingTypes(), cache_of({"d": "java.sql.Date"})
    entries = record_converter(cache, types, rules(zone="America/New_York")).convert(consumed([text, b'{"d":null}']))
    day, nothing = (value.fields["d"] for _, value in decoded(entries, types))
    assert (day, nothing) == (SqlDate(20_000 * 86_400_000 + 4 * 3_600_000), None)
