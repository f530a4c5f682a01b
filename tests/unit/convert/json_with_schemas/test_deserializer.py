"""JSON with schemas read as Connect columns. What Kafka's converter reads: tests/integration/convert/test_connect_envelopes.py."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from ignite_kafka.convert.connect import ConnectColumn, ConnectField, ConnectSchema, ConnectType, Deserialized
from ignite_kafka.convert.connect import schema as connect
from ignite_kafka.convert.json.envelope_texts import head_of
from ignite_kafka.convert.json.write_columns import JsonFormat
from ignite_kafka.convert.json_with_schemas import deserializer as connect_json
from ignite_kafka.convert.json_with_schemas.deserializer import NOT_AN_ENVELOPE, ConnectJsonDeserializer
from ignite_kafka.convert.json_with_schemas.schema_from_connect import schema_json
from ignite_kafka.convert.json_with_schemas.serializer import ConnectJsonSerializer

LONG = ConnectSchema(ConnectType.INT64)
TEXT = ConnectSchema(ConnectType.STRING, optional=True)
ORDER = ConnectSchema(
    ConnectType.STRUCT, name="shop.Order", version=3,
    fields=(ConnectField("id", LONG), ConnectField("price", connect.decimal(2, optional=True)), ConnectField("note", TEXT)),
)  # fmt: skip
UNSCALED_1234 = -0x289208  # of "1234" as base64
DECIMAL_FORMATS = ("BASE64", "NUMERIC")


def envelope(schema: ConnectSchema | None, payload: str) -> str:
    return f'{{"schema":{schema_json(schema, JsonFormat())},"payload":{payload}}}'


def read(texts: Sequence[str | bytes], *, plain: bool = False, defaults: bool = True) -> tuple[dict[int, tuple[Any, Any]], dict[int, str]]:
    """(schema, value) of good rows, and reasons of bad rows; every row is in one of them. Checks the same result with a common head cut."""
    whole = [text.encode() if isinstance(text, str) else text for text in texts]
    reader = ConnectJsonDeserializer(plain=plain, defaults=defaults)
    found = by_row(reader.deserialize(pa.array(whole, pa.binary()), "t"), len(texts))
    head = head_of(whole[0]) if whole else b""
    if head and all(text.startswith(head) for text in whole):
        cut = pa.array([text[len(head) :] for text in whole], pa.binary())
        assert repr(by_row(reader.deserialize(cut, "t", head), len(texts))) == repr(found)
    return found


def by_row(found: Deserialized, count: int) -> tuple[dict[int, tuple[Any, Any]], dict[int, str]]:
    good: dict[int, tuple[Any, Any]] = {}
    for part in found.parts:
        assert part.rows.tolist() == sorted(part.rows.tolist())
        assert len(part.rows) == len(part.column.data)
        good |= {row: (part.column.schema, value) for row, value in zip(part.rows.tolist(), part.column.data.to_pylist(), strict=True)}
    bad = dict(found.bad)
    assert sorted([*good, *bad]) == list(range(count))
    return good, bad


@pytest.mark.parametrize("form", ["schema for all", "in each record"])
def test_numbers_with_leading_zeros_are_read_as_kafka_does_and_other_forms_are_bad(form: str) -> None:
    schema = ConnectSchema(ConnectType.STRUCT, fields=(ConnectField("n", ConnectSchema(ConnectType.FLOAT64)),))
    payloads = ['{"n":0102}', '{"n":-007}', '{"n":00.5}', '{"n":000}', '{"n":0e1}', '{"n":1.}', '{"n":+1}', '{"n":.5}', '{"n":00x}']
    payloads.append('{"x":"00\\"01","n":01}')
    if form == "in each record":
        good, bad = read([envelope(schema, payload) for payload in payloads])
    else:
        texts = pa.array([payload.encode() for payload in payloads], pa.binary())
        found = ConnectJsonDeserializer(content=schema_json(schema, JsonFormat())).deserialize(texts, "t")
        good, bad = by_row(found, len(payloads))
    assert {row: value["n"] for row, (_, value) in good.items()} == {0: 102.0, 1: -7.0, 2: 0.5, 3: 0.0, 4: 0.0, 9: 1.0}
    assert sorted(bad) == [5, 6, 7, 8]
    assert all(reason.startswith("not JSON") for reason in bad.values())


def only(schema: ConnectSchema, payload: str, *, defaults: bool = True) -> Any:
    """The value of one record, or the reason why it is bad."""
    good, bad = read([envelope(schema, payload)], defaults=defaults)
    if bad:
        return bad[0]
    assert good[0][0] == schema
    return good[0][1]


@pytest.mark.parametrize("decimals", DECIMAL_FORMATS)
def test_records_of_one_schema_are_one_part_read_by_columns(decimals: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect_json._Batch, "_single", lambda *_: pytest.fail("read alone"))
    rows = [{"id": n, "price": Decimal(n) / 100, "note": f'"{n}"'} for n in range(50)] + [{"id": 1, "price": None, "note": None}]
    data = pa.array(rows, connect.arrow_type(ORDER))
    texts = ConnectJsonSerializer(JsonFormat(decimals)).serialize(ConnectColumn(data, ORDER), "t")
    found = ConnectJsonDeserializer().deserialize(texts, "t")
    assert len(found.parts) == 1
    assert found.parts[0].column == ConnectColumn(data, ORDER)


def test_arrays_of_decimals_as_base64_are_read_by_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect_json._Batch, "_single", lambda *_: pytest.fail("read alone"))
    schema = ConnectSchema(ConnectType.ARRAY, value_schema=connect.decimal(2))
    data = pa.array([[Decimal("1.25"), Decimal("-3.00")], [Decimal("0.50")]] * 20, connect.arrow_type(schema))
    texts = ConnectJsonSerializer(JsonFormat("BASE64")).serialize(ConnectColumn(data, schema), "t")
    assert ConnectJsonDeserializer().deserialize(texts, "t").parts[0].column == ConnectColumn(data, schema)


@pytest.mark.parametrize("first", ["12.5", "45592147986558795081908112040000000"])
@pytest.mark.parametrize(
    "number", ["45592147986558795081908112040000000", "-4559214798655879508190811.5", "9E+30", "1e27", "99999999999999999999999999.5"]
)
def test_a_decimal_of_many_digits_as_a_number_keeps_them(first: str, number: str) -> None:
    schema = ConnectSchema(ConnectType.STRUCT, fields=(ConnectField("n", LONG), ConnectField("d", connect.decimal(12))))
    good, bad = read([envelope(schema, f'{{"n":1,"d":{first}}}')] * 40 + [envelope(schema, f'{{"n":1,"d": {number}}}')])
    assert bad == {}
    assert [Decimal(good[row][1]["d"]) for row in (0, 40)] == [Decimal(first), Decimal(number)]


def test_several_schemas_and_bad_rows_between_them() -> None:
    texts: list[str | bytes] = [
        envelope(LONG, "1"), envelope(TEXT, '"a"'), envelope(LONG, '"1"'), '{"schema":1}', envelope(LONG, "2"), envelope(TEXT, "null"),
        envelope(None, '{"a":0.1234567890123456789}'), envelope(None, " null "), b"\xff", "",
    ]  # fmt: skip
    good, bad = read(texts)
    assert good == {
        0: (LONG, 1), 1: (TEXT, "a"), 4: (LONG, 2), 5: (TEXT, None), 6: (None, b'{"a":0.1234567890123456789}'), 7: (None, None),
    }  # fmt: skip
    assert bad == {
        2: "it is a JSON text where a number is due", 3: NOT_AN_ENVELOPE, 8: "not UTF-8 at byte 0",
        9: "no bytes at all, which is no JSON value (a tombstone is null, not empty)",
    }  # fmt: skip


def test_other_spellings_of_the_same_record() -> None:
    schema, payload = schema_json(ORDER, JsonFormat()), '{"note":"\\u00e9","id":1,"more":[1,{}]}'
    spellings = [
        f'{{"schema":{schema},"payload":{payload}}}',
        f' {{ "schema" :\n{schema} ,\t"payload" : {payload} }} ',
        f'{{"payload":{payload},"schema":{schema}}}',
        f'{{ "payload" : {payload} , "sch\\u0065ma" : {schema} }}',
        f'{{"schema":{json.dumps(json.loads(schema))}, "payload":{payload}}}',
    ]
    good, bad = read(spellings)
    assert bad == {}
    assert list(good.values()) == [(ORDER, {"id": 1, "price": None, "note": "é"})] * len(spellings)


@pytest.mark.parametrize(
    "text",
    ["5", "null", "{}", '{"schema":null}', '{"payload":1}', '{"schema":null,"payload":1,"x":2}', '{"x":1,"schema":null,"payload":1}'],
)
def test_what_is_no_envelope(text: str) -> None:
    good, bad = read([text])
    if bad:
        assert bad == {0: NOT_AN_ENVELOPE}
    else:  # a schemaless value is a text: its reader finds that it is more than one value
        assert good == {0: (None, b'1,"x":2')}


def test_auto_reads_both() -> None:
    plain = [
        "5",
        "null",
        "{}",
        '{"schema":null}',
        '{"schema":"s","payload":1}',
        '{"schema":{"a":1},"payload":1}',
        '{"payload":1, "schema":5}',
    ]
    good, bad = read([envelope(LONG, "1"), *plain, envelope(LONG, "x"), '{"schema":{"type":"x"},"payload":1}'], plain=True)
    assert good == {0: (LONG, 1), 1: (None, b"5"), 2: (None, None)} | {row: (None, plain[row - 1].encode()) for row in range(3, 8)}
    assert sorted(bad) == [8, 9]
    assert bad[9] == "Unknown schema type: x"


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (schema_json(LONG, JsonFormat()), {0: (LONG, 1)}, [1]),
        ("null", {0: (None, b"1"), 1: (None, b'"x"')}, []),
        ('{"a":1}', {0: (None, b'{"schema":{"a":1},"payload":1}'), 1: (None, b'{"schema":{"a":1},"payload":"x"}')}, []),
    ],
)
def test_auto_reads_records_of_a_common_head(schema: str, good: dict[int, tuple[Any, Any]], bad: list[int]) -> None:
    found = read([f'{{"schema":{schema},"payload":{payload}}}' for payload in ("1", '"x"')], plain=True)
    assert (found[0], sorted(found[1])) == (good, bad)


def test_the_field_of_a_bad_value_is_named() -> None:
    inner = ConnectSchema(ConnectType.STRUCT, fields=(ConnectField("b", ConnectSchema(ConnectType.INT8)),))
    pairs = ConnectSchema(ConnectType.MAP, key_schema=LONG, value_schema=inner)
    whole = ConnectSchema(
        ConnectType.STRUCT,
        fields=(
            ConnectField("a", ConnectSchema(ConnectType.ARRAY, optional=True, value_schema=inner)),
            ConnectField("m", pairs.as_optional()),
        ),
    )
    assert only(whole, '{"a":[{"b":1},{"b":128}]}') == "field a[1].b is 128, outside of -128 to 127"
    assert only(whole, '{"a":[{}]}') == "field a[0].b is null: Invalid null value for required INT8 field"
    assert only(whole, '{"a":5}') == "field a is wrong: Arrays should be encoded as JSON arrays, but found NUMBER"
    assert only(whole, '{"m":{}}') == (
        "field m is wrong: Maps with non-string fields should be encoded as JSON array of tuples, but found OBJECT"
    )
    assert only(whole, '{"m":[5]}') == "field m is wrong: Found invalid map entry instead of array tuple NUMBER"
    assert only(whole, '{"m":[[5]]}') == "field m holds: Found invalid map entry, expected length 2 but found :1"
    assert only(whole, "[]") == "it is wrong: Structs should be encoded as JSON objects, but found ARRAY"


@pytest.mark.parametrize(
    ("schema", "payload", "value"),
    [
        (ConnectSchema(ConnectType.INT8), "1.0", 1),
        (ConnectSchema(ConnectType.INT64), "-1e3", -1000),
        (ConnectSchema(ConnectType.FLOAT64), "1", 1.0),
        (ConnectSchema(ConnectType.FLOAT32), "16777217", 16777216.0),
        (ConnectSchema(ConnectType.FLOAT64), '"NaN"', "nan"),
        (ConnectSchema(ConnectType.FLOAT32), '"-Infinity"', float("-inf")),
        (ConnectSchema(ConnectType.BYTES), '" AQ==\\n"', b"\x01"),
        (connect.decimal(2), "12.5", Decimal("12.50")),
        (connect.decimal(2), "1E+3", Decimal("1000.00")),
        (connect.decimal(2), "12.345", "12.345"),
        (connect.decimal(2), '"AJY="', Decimal("1.50")),
        (connect.decimal(0), '"1234"', Decimal(UNSCALED_1234)),
        (connect.decimal(40), "1E-40", "1E-40"),
    ],
)
def test_forms_that_kafkas_converter_reads_too(schema: ConnectSchema, payload: str, value: Any) -> None:
    found = only(schema, payload)
    assert str(found) == "nan" if value == "nan" else found == value


@pytest.mark.parametrize(
    ("schema", "payload", "reason"),
    [
        (ConnectSchema(ConnectType.INT32), "1.5", "it is 1.5, which is no integer of its type"),
        (ConnectSchema(ConnectType.INT64), "9223372036854775808", "it is 9223372036854775808, outside of"),
        (ConnectSchema(ConnectType.FLOAT64), "1e400", "it is 1e400, which is beyond a double"),
        (ConnectSchema(ConnectType.FLOAT32), "1e39", "it is 1e39, which is beyond a float"),
        (ConnectSchema(ConnectType.STRING), "5", "it is a JSON number where a text is due"),
        (ConnectSchema(ConnectType.STRING), '"\\ud800"', "it has half of a surrogate pair"),
        (ConnectSchema(ConnectType.BOOLEAN), "0", "it is a JSON number where a boolean is due"),
        (ConnectSchema(ConnectType.BYTES), '"A"', "it is no base64: Invalid bytes field"),
        (ConnectSchema(ConnectType.BYTES), '"AQ\\n=="', "it is no base64: Invalid bytes field"),
        (connect.decimal(2), '""', "it holds 0 bytes: Invalid bytes for Decimal field"),
        (connect.decimal(2), "true", "Invalid type for Decimal, underlying representation should be numeric or bytes but was BOOLEAN"),
        (connect.decimal(2), "1E+99999", "it is a decimal of more than 40000 digits"),
        (connect.date(), '"2026-01-01"', "Invalid type for Date, underlying representation should be integer but was STRING"),
        (connect.date(), "2147483648", "it is 2147483648, beyond the range of a Date"),
        (connect.time(), "86400001", "it is 86400001, beyond the range of a Time"),
        (connect.timestamp(), "1.5", "it is 1.5, which is no integer of its type"),
        (LONG, "null", "it is null: Invalid null value for required INT64 field"),
        (LONG, "1]", "not JSON"),
        (LONG, '1,"payload":2', "the name 'payload' stands twice in an object"),
        (LONG, '1,"more":2', "may not contain additional fields"),
        (ORDER, '{"id":1},"payload":{"id":2}', "the name 'payload' stands twice in an object"),
        (ORDER, '{"id":1}}\n{"schema":{', "not JSON"),
        (ORDER, '{"id":1,"id":2}', "the name 'id' stands twice in an object"),
    ],
)
def test_what_would_be_another_value(schema: ConnectSchema, payload: str, reason: str) -> None:
    assert reason in only(schema, payload)


def test_a_null_is_its_default_unless_asked_otherwise() -> None:
    field = ConnectSchema(ConnectType.INT32, optional=True, default=9)
    required = ConnectSchema(ConnectType.STRING, default="x")
    whole = ConnectSchema(ConnectType.STRUCT, fields=(ConnectField("a", field), ConnectField("b", required)))
    assert only(whole, '{"b":null}') == {"a": 9, "b": "x"}
    assert only(whole, '{"b":"y"}', defaults=False) == {"a": None, "b": "y"}
    assert only(whole, "{}", defaults=False) == "field b is null: Invalid null value for required STRING field"
    assert only(field, "null") == 9


def test_a_default_may_have_more_digits_than_arrows_decimals() -> None:
    price = replace(connect.decimal(0), default="1" + "0" * 50)
    nested = ConnectSchema(ConnectType.STRUCT, fields=(ConnectField("p", price),), default={"p": price.default})
    whole = ConnectSchema(ConnectType.STRUCT, fields=(ConnectField("price", price), ConnectField("nested", nested)))
    payloads = ['{"price":null}', '{"price":"AQ==","nested":{"p":"AQ=="}}', '{"price":"AQ==","nested":null}']
    good, bad = read([envelope(whole, payload) for payload in payloads])
    assert not bad
    found = [(value["price"], value["nested"]["p"]) for _, value in (good[row] for row in range(3))]
    assert [(int(a), int(b)) for a, b in found] == [(10**50, 10**50), (1, 1), (1, 10**50)]


def test_numbers_of_any_length_make_bad_records_at_most() -> None:
    digits = "1" * 5_000
    assert only(connect.decimal(0), digits) == digits
    assert only(LONG, digits).startswith("it is 1111")
    good, bad = read(
        [f'{{"payload":{digits},"schema":{{"type":"int64"}}}}', f'{{"schema":{{"type":"int64","version":{digits}}},"payload":1}}']
    )
    assert sorted(bad) == [0]
    assert good[1][1] == 1


def test_the_last_of_equal_keys_wins_at_the_place_of_the_first() -> None:
    inner = ConnectSchema(ConnectType.MAP, key_schema=LONG, value_schema=TEXT)
    assert only(inner, '[[1,"a"],[2,"b"],[1,"c"],[1.0,"d"]]') == [(1, "d"), (2, "b")]
    floats = ConnectSchema(ConnectType.MAP, key_schema=ConnectSchema(ConnectType.FLOAT64), value_schema=TEXT)
    assert only(floats, '[["NaN","a"],[0.0,"b"],["NaN","c"],[-0.0,"d"]]')[1:] == [(0.0, "b"), (-0.0, "d")]
    point = ConnectSchema(ConnectType.STRUCT, fields=(ConnectField("x", LONG), ConnectField("y", TEXT)))
    objects = ConnectSchema(ConnectType.MAP, key_schema=point, value_schema=inner)
    assert only(objects, '[[{"x":1},[]],[{"y":null,"x":1},[[3,"a"],[3,"b"]]]]') == [({"x": 1, "y": None}, [(3, "b")])]


def test_a_key_of_a_map_is_text() -> None:
    texts = ConnectSchema(ConnectType.MAP, key_schema=ConnectSchema(ConnectType.STRING), value_schema=LONG)
    assert only(texts, '{"\\ud83d\\ude00":1}') == [("😀", 1)]
    assert only(texts, '{"a":1,"\\ud83d":1}') == "field {key} has half of a surrogate pair"
    assert only(texts, '{"a":1,"a":1}') == "the name 'a' stands twice in an object"


def test_a_member_twice_that_the_schema_lacks_is_passed_over_whatever_stands_in_other_records() -> None:
    whole = ConnectSchema(ConnectType.STRUCT, fields=(ConnectField("a", LONG),))
    doubled, wrong = '{"x":1,"x":2,"a":3,"y":{"z":1,"z":2}}', '{"a":"3"}'
    for payloads in ([doubled], [doubled, wrong], [wrong, doubled], ['{"a":3}', doubled]):
        good, bad = read([envelope(whole, payload) for payload in payloads])
        assert {value["a"] for _, value in good.values()} == {3}
        assert len(bad) == payloads.count(wrong)
    assert only(whole, '{"a":1,"a":2,"x":{}}') == "the name 'a' stands twice in an object"
    assert only(LONG, '{"a":1,"a":2}') == "it is a JSON object where a number is due"
    assert only(LONG, '1,"payload":2') == "the name 'payload' stands twice in an object"


def test_numbers_among_base64_are_not_taken_for_each_other() -> None:
    whole = ConnectSchema(ConnectType.STRUCT, fields=(ConnectField("n", connect.decimal(0)), ConnectField("s", TEXT)))
    lists = ConnectSchema(ConnectType.ARRAY, value_schema=connect.decimal(0))
    number, text = '{"n":1234,"s":"\\u00e9"}', '{"n":"1234","s":null}'
    for payloads in ([number] * 9 + [text], [text] * 9 + [number], [number, '{"\\u006e":"1234"}']):
        good, bad = read([envelope(whole, payload) for payload in payloads])
        assert not bad
        assert [value["n"] for _, value in good.values()] == [1234 if one == number else UNSCALED_1234 for one in payloads]
    assert only(lists, '[1234,"1234"]') == [1234, UNSCALED_1234]
    assert only(lists, '["1234",1234]') == [UNSCALED_1234, 1234]


def test_more_schemas_than_one_batch_groups_by() -> None:
    schemas = [ConnectSchema(ConnectType.INT64, doc=str(n)) for n in range(100)]
    good, bad = read([envelope(one, str(n)) for n, one in enumerate(schemas)] * 2)
    assert not bad
    assert [good[n] for n in range(200)] == [(one, n) for n, one in enumerate(schemas)] * 2
