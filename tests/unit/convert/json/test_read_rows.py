"""Columns and rows read alike, whatever bytes a record holds: the same values, the same records refused."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ignite_kafka.convert.ignite_types.converted_side import ConvertedSide
from ignite_kafka.convert.ignite_types.object_types import ObjectTypes
from ignite_kafka.convert.ignite_types.resolve_types import entry_types
from ignite_kafka.convert.json import reader as reader
from ignite_kafka.convert.json.read_rows import is_json, parse, without_leading_zeros
from ignite_kafka.convert.json.reader import JsonReader
from ignite_kafka.convert.json.values import Refused
from ignite_kafka.convert.json.write_columns import JsonFormat
from ignite_kafka.convert.rules.marked_fields import reference
from ignite_kafka.ignite.types.model import CacheInfo
from tests.support.ignite_bytes import Types
from tests.support.randomness import generator
from tests.support.to_ignite_records import GrowingTypes, cache_of

CLASSES = {
    "byte": "java.lang.Byte", "short": "java.lang.Short", "int": "java.lang.Integer", "long": "java.lang.Long",
    "float": "java.lang.Float", "double": "java.lang.Double", "char": "java.lang.Character", "bool": "java.lang.Boolean",
    "text": "java.lang.String", "uuid": "java.util.UUID", "date": "java.util.Date", "stamp": "java.sql.Timestamp",
    "time": "java.sql.Time", "day": "java.sql.Date", "bytes": "[B", "ints": "[I", "decimal": "java.math.BigDecimal",
    "inner": "Inner", "texts": "[Ljava.lang.String;", "color": "Color",
}  # fmt: skip
NUMBERS = [
    "0", "-0", "1", "-1", "127", "128", "-129", "32768", "65535", "65536", "2147483648", "9007199254740993", "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "1.0", "1.5", "-0.0", "1e2", "1E400", "1e39", "3.4028236e38", "16777217", "1e-400",
    "5e-324", "0.1", "86400000", "86400001", "9223372036854775", "9223372036854776", "-9223372036854776", "01", "+1", "1.", ".5",
    "0x10", "NaN", "-Infinity", "Infinity", "1" + "0" * 400, "123456789012345678901234567890", "1_000", "--1", "1e", "-",
]  # fmt: skip
TEXTS = [
    '""', '"text"', '"NaN"', '"Infinity"', '"-Infinity"', '"RED"', '"red"', '"AQ=="', '"AQ"', '"AQ==\\n"', '"A Q=="', '"AAECAw=="',
    '"/////////////////////w=="', '"S08aif//////////////////////////////"', '"SztMqFqGIkoJQaWf/////w=="', '"\\ud83d\\ude00"',
    '"\\ud800"', '"\\udc00x"', '"\\u0000"', '"\\/"', '"\\x"', '"a\nb"', '"a\x00b"', '"\x7f"', '"é€😀"',
    '"12345678-1234-1234-1234-123456789abc"',
    '"12345678-1234-1234-1234-123456789ABC"', '"12345678123412341234123456789abc"', '"12345678-1234-1234-1234-123456789abg"', '"12"', "'x'",
]  # fmt: skip
OTHERS = ["null", "true", "false", "True", "[]", "[1]", "[1,null]", '["a",null]', "[1,]", "{}", '{"x":1}', '{"x":1,"x":2}', '{"x":null}',
          '{"x":1.5}', '{"y":1}', '{"X":2}', "[[1]]", "nul", "", "{", '"', "[", "}", "]"]  # fmt: skip
WHOLE = [
    b"", b" ", b"null", b" null ", b"{}", b" {} ", b"[]", b"1", b'"text"', b"{", b"}", b'{"int":', b'{"int":1', b'{"text":"', b'{"text":"}',
    b'{"int":1}}', b'{{"int":1}', b'{"int":1}{"int":2}', b'{"int":1} {"int":2}', b'{"int":1}\n{"int":2}', b'{"int":1}null{"int":2}',
    b'{"int":1}\nnull\n{"int":2}', b'{"int":1},{"int":2}', b'{"int":1}\0}', b"\0", b"{\0}", b'\xef\xbb\xbf{"int":1}', b'{"text":"\xff"}',
    b'{"text":"\xed\xa0\x80"}', b'{"\xff":1}', b'{"int":1,}', b'{"int":1 /*c*/}', b'{"int":1}//c', b'{int:1}', b'{"INT":1}',
    b'{"INT":1,"int":2}',
    b'{"INT":null,"int":2}', b'{"int":1,"new":null}', b'{\n  "int": 1,\n  "text": "a"\n}\n', b'\t{"int":1}\r\n',
    b'{"in\\u0074":1}', b'{"int":1}\x0b',
    b'{"int"\xc2\xa0:1}', b'{"inner":{"x":1}', b'{"inner":{"x":1}}}', b'{"text":"}\\n{"}', b'{"text":"}null"}', b"null{}", b"{}null",
    b"nul",
    b"truefalse",
    b'{"a":' * 3000 + b"1" + b"}" * 3000, b"[" * 100_000, b'{"":1}', b'{"text":"\\ud83d"}', b'{"\\ud83d":1}', b'{"text":1}', b'{"int":"1"}',
]  # fmt: skip


def types() -> GrowingTypes:
    made = GrowingTypes()
    made.add("Inner", {"x": 3})
    made.add("Color", {}, enum=["RED", "GREEN"])
    return made


def json_reader(form: str = "BASE64") -> JsonReader:
    known = types()
    resolved = entry_types(cache_of(CLASSES, scale=2), known)
    return JsonReader(resolved.value, ObjectTypes(known, resolved.objects), JsonFormat(form))


def listed(side: ConvertedSide) -> tuple[dict[int, Any], set[int]]:
    return dict(zip(side.rows.tolist(), side.data.to_pylist(), strict=True)), {row for row, _ in side.bad}


def by_rows(texts: list[bytes], monkeypatch: pytest.MonkeyPatch) -> tuple[dict[int, Any], set[int]]:
    with monkeypatch.context() as only:
        only.setattr(reader, "parsed_as", lambda field, form: None)
        return listed(json_reader().read(pa.array(texts, pa.binary())))


def single_fields() -> Iterator[bytes]:
    for name in CLASSES:
        for value in [*NUMBERS, *TEXTS, *OTHERS]:
            yield f'{{"{name}":{value}}}'.encode()


def adds_a_field(text: bytes) -> bool:
    """Whether the record has a field that its type lacks: then all others of its batch have it too, as null."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text.startswith(b'{"a":{"a"')
    inner = value.get("inner") if isinstance(value, dict) else None
    return isinstance(value, dict) and bool(_lower(value) - set(CLASSES) or (isinstance(inner, dict) and _lower(inner) - {"x"}))


def _lower(value: dict[str, Any]) -> set[str]:
    return {name.lower() for name in value}


RECORDS = [text for text in [*single_fields(), *WHOLE] if not adds_a_field(text)]


def test_each_form_of_each_type_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, refused = by_rows(RECORDS, monkeypatch)
    assert len(wanted) > 100
    assert len(refused) > 500
    alone = json_reader()  # one for all: no record adds a field to its types
    for row, text in enumerate(RECORDS):
        found, bad = listed(alone.read(pa.array([text], pa.binary())))
        assert (found.get(0), bool(bad)) == (wanted.get(row), row in refused), text


KEY_TEXTS = [
    b'{"id":1,"tenant":null}', b'{"tenant":null,"id":2}', b'{"id":3}', b'{"id":4,"tenant":"x"}', b'{"id":5,"TENANT":null}',
    b'{"tenant":null}', b'{"id":6,"tenant":null,"tenant":null}', b'{"id":7,"other":null,"tenant":null}', b'{"id":8,"other":{}}',
]  # fmt: skip


@pytest.mark.parametrize("more", [0, 60])
def test_null_members_that_a_key_type_lacks(more: int, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = KEY_TEXTS + KEY_TEXTS[:3] * more

    def read(*, columns: bool) -> tuple[dict[int, Any], set[int]]:
        known = GrowingTypes()
        known.add("K", {"id": 4})
        with monkeypatch.context() as changed:
            if not columns:
                changed.setattr(reader, "parsed_as", lambda field, form: None)
            root = reference("", "K")
            side = JsonReader(root, ObjectTypes(known, {"K": ()}, frozenset(["K"])), JsonFormat("BASE64")).read(
                pa.array(texts, pa.binary())
            )
        return listed(side)

    wanted, refused = read(columns=False)
    assert refused == {3, 6, 8}
    assert wanted[0] == read(columns=True)[0][0]
    assert read(columns=True) == (wanted, refused)


@pytest.mark.parametrize("seed", range(6))
def test_batches_of_good_and_bad_records(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = generator(seed)
    texts = [chance.choice(RECORDS) if chance.random() < 0.02 * seed else good(chance) for _ in range(700)]
    wanted, refused = by_rows(texts, monkeypatch)
    side = json_reader().read(pa.array(texts, pa.binary()))
    assert listed(side) == (wanted, refused)
    assert np.all(np.diff(side.rows) > 0)
    assert seed == 0 or refused


@pytest.mark.parametrize("seed", range(4))
def test_records_with_bytes_changed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = generator(seed)
    texts = []
    for _ in range(300):
        text = bytearray(good(chance))
        for _ in range(chance.choice([0, 0, 1, 2])):
            place = chance.randrange(len(text))
            text[place : place + chance.choice([0, 1, 3])] = chance.choice(
                [b"", b"}", b"{", b'"', b"\0", b"\\", b"\n", b"null", b",", bytes([chance.randrange(256)])]
            )
        texts.append(bytes(text))
    texts = [text for text in texts if not adds_a_field(text)]
    assert len(texts) > 200
    assert listed(json_reader().read(pa.array(texts, pa.binary()))) == by_rows(texts, monkeypatch)


def good(chance: random.Random) -> bytes:
    values: dict[str, Any] = {
        "byte": chance.randrange(-128, 128), "short": chance.randrange(-32768, 32768), "int": chance.randrange(-(2**31), 2**31),
        "long": chance.randrange(-(2**63), 2**63), "float": chance.choice([0.1, 1, -2.5e-30, "NaN"][: 3 + (chance.random() < 0.01)]),
        "double": chance.choice([chance.random(), 3, 1e300]), "char": chance.randrange(65536), "bool": chance.random() < 0.5,
        "text": chance.choice(["", "a}\n{", "é😀", 'quo"ted\\', "}null"]), "uuid": "12345678-1234-1234-1234-123456789abc",
        "date": chance.randrange(-(2**63), 2**63), "stamp": chance.randrange(-(2**40), 2**50), "time": chance.randrange(86_400_001),
        "day": chance.randrange(-(2**20), 2**20), "bytes": chance.choice(["", "AQ==", "AAECAw=="]), "ints": [1, -5],
        "decimal": chance.choice(["AQ==", "/w==", "AIA=", "EjRWeJA="]), "inner": chance.choice([{"x": 5}, {}, {"x": None}]),
        "texts": ["a", None, ""], "color": chance.choice(["RED", "GREEN"]),
    }  # fmt: skip
    kept = {name: chance.choice([value, value, value, None]) for name, value in values.items() if chance.random() < 0.8}
    return json.dumps(kept, ensure_ascii=chance.random() < 0.5, indent=chance.choice([None, None, 2])).encode()


def test_types_support_is_of_a_cluster() -> None:
    assert isinstance(types(), Types)


LEADING_ZEROS = {
    b'{"n":0102}': b'{"n":102}', b'{"n":-007}': b'{"n":-7}', b'{"n":00.5}': b'{"n":0.5}', b'{"n":[01,2, -00]}': b'{"n":[1,2, -0]}',
    b"0102": b"102", b"000": b"0", b" 01e-05 ": b" 1e-05 ", b'{"00\\"01":"-02",\n"b":03}': b'{"00\\"01":"-02",\n"b":3}',
}  # fmt: skip


@pytest.mark.parametrize(("text", "plain"), LEADING_ZEROS.items())
def test_leading_zeros_are_ignored_as_kafkas_json_converter_does(text: bytes, plain: bytes) -> None:
    assert without_leading_zeros(text) == plain
    assert parse(text) == parse(plain)
    assert is_json(text)


@pytest.mark.parametrize(
    "text", [b'{"n":1.}', b'{"n":+1}', b'{"n":.5}', b"00x", b"-", b'"00', b'"\\', b'01 "\\"', b"0 1", b"a00", b"1.", b"0x01"]
)
def test_other_numbers_that_are_not_json_are_bad(text: bytes) -> None:
    with pytest.raises(Refused, match="not JSON"):
        parse(text)


def test_a_record_with_a_leading_zero_is_stored_with_its_neighbours() -> None:
    objects = entry_types(CacheInfo("free", 2), GrowingTypes())
    reader = JsonReader(objects.value, ObjectTypes(GrowingTypes(), objects.objects, objects.key_objects), JsonFormat())
    side = reader.read(pa.array([b"102", b"0102", b"1.", b"-007"], pa.binary()))
    assert side.rows.tolist() == [0, 1, 3]
    assert side.data[0] == side.data[1]
