"""NaN, Infinity and -Infinity in quotes: texts that alone decide no type, since converter `json` writes floats so."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from ignite_kafka import events
from ignite_kafka.convert.to_ignite import RecordConverter
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo
from tests.support import emitted_events
from tests.support.converters import converter
from tests.support.ignite_bytes import Types, binary, number, page
from tests.support.to_ignite_records import GrowingTypes, consumed, decoded, record_converter

FREE = CacheInfo("free", 2)
INFINITE = float("inf")


@pytest.fixture(autouse=True)
def _nothing_told() -> None:
    emitted_events.reset()


def guesses() -> int:
    return emitted_events.counts().get(events.FLOAT_GUESSED.id, 0)


def values(converter: RecordConverter, types: GrowingTypes, *texts: str, name: str = "a") -> list[Any]:
    """Of each record the field, or why the record is bad."""
    found = converter.convert(consumed([text.encode() for text in texts]))
    made: dict[int, Any] = {bad.row: bad.reason for bad in found.bad}
    made |= {int(row): value.fields.get(name) for row, (_, value) in zip(found.rows, decoded(found, types), strict=True)}
    return [made[row] for row in range(len(texts))]


def test_a_topic_that_our_snapshot_wrote_is_read_whatever_comes_first() -> None:
    source, types = Types(), GrowingTypes()
    kind = source.add("Reading", {"at": codes.LONG, "value": codes.DOUBLE})
    numbers = [-INFINITE, 1.5, INFINITE, 3.0, -0.0]
    to_ignite = record_converter(FREE, types)
    found: list[Any] = []
    for row, one in enumerate(numbers):  # a batch each
        fields = {"at": number(codes.LONG, row), "value": number(codes.DOUBLE, one)}
        records = converter("json").convert([page([(number(codes.LONG, row), binary(kind, fields))])], FREE, source)
        found += values(to_ignite, types, records.values[0].as_py().decode(), name="value")
    assert [struct.pack("<d", one) for one in found] == [struct.pack("<d", one) for one in numbers]
    assert guesses() == 1


@pytest.mark.parametrize("several", [1, 100])
def test_numbers_of_the_batch_tell_the_type(several: int) -> None:
    types = GrowingTypes()
    found = values(record_converter(FREE, types), types, *['{"a":"-Infinity"}'] * several, *['{"a":1.5}', '{"a":2}'] * several)
    assert found == [-INFINITE] * several + [1.5, 2.0] * several
    assert not guesses()


@pytest.mark.parametrize("several", [1, 100])
def test_other_texts_of_the_batch_tell_the_type(several: int) -> None:
    types = GrowingTypes()
    converter = record_converter(FREE, types)
    found = values(converter, types, *['{"a":"NaN"}'] * several, *['{"a":"Nan"}', '{"a":"Infinity"}'] * several)
    assert found == ["NaN"] * several + ["Nan", "Infinity"] * several
    assert values(converter, types, '{"a":"NaN"}', '{"a":"x"}') == ["NaN", "x"]
    assert not guesses()


def test_a_guess_stands_for_all_that_follows() -> None:
    types = GrowingTypes()
    converter = record_converter(FREE, types)
    assert values(converter, types, '{"a":"Infinity"}') == [INFINITE]
    for one in (converter, record_converter(FREE, types)):  # the same run, and the next one
        first, second = values(one, types, '{"a":"x"}', '{"a":0.5}')
        assert first == "field a is a JSON text where a number is due"
        assert second == 0.5
    assert guesses() == 1


def test_what_another_task_registered_meanwhile_counts() -> None:
    types = GrowingTypes()
    one, other = record_converter(FREE, types), record_converter(FREE, types)
    for task in (one, other):
        values(task, types, '{"id":1}')
    assert values(one, types, '{"a":"x"}') == ["x"]
    assert values(other, types, '{"a":"NaN"}') == ["NaN"]
    assert not guesses()


def test_nothing_is_learned_of_a_bad_record() -> None:
    types = GrowingTypes()
    bad, good = values(record_converter(FREE, types), types, '{"a":"NaN","b":1,"b":2}', '{"a":"x"}')
    assert "stands twice" in bad
    assert good == "x"


def test_of_keys_a_text_is_a_text_unless_a_number_tells_otherwise() -> None:
    for texts, wanted in ((["Infinity"], ["Infinity"]), (["Infinity", 1.5], [INFINITE, 1.5]), (["NaN", "x"], ["NaN", "x"])):
        types = GrowingTypes()
        keys = [('{"k":"%s"}' if isinstance(text, str) else '{"k":%s}') % text for text in texts]
        found = record_converter(FREE, types).convert(consumed([b'{"v":1}'] * len(keys), [key.encode() for key in keys]))
        assert not found.bad
        assert [key.fields["k"] for key, _ in decoded(found, types)] == wanted
    assert guesses() == 1


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('[1.5,"NaN","-Infinity"]', [1.5, "nan", -INFINITE]),
        ('[2,"Infinity"]', [2, INFINITE]),
        ('[1.5,"NaN","x"]', [1.5, "NaN", "x"]),
        ('["NaN"]', ["nan"]),
        ('["Infinity",null]', [INFINITE, None]),
        ('["NaN",true]', ["NaN", True]),
    ],
)
def test_among_numbers_of_a_list_it_is_a_number(text: str, wanted: list[Any]) -> None:
    types = GrowingTypes()
    (found,) = values(record_converter(FREE, types), types, f'{{"a":{text}}}')
    assert ["nan" if one != one else one for one in found] == wanted


def test_objects_within() -> None:
    types = GrowingTypes()
    found = values(record_converter(FREE, types), types, '{"a":{"b":"NaN"}}', '{"a":{"b":"x"}}', '{"a":{"c":"Infinity"}}')
    assert [one.fields.get("b") for one in found] == ["NaN", "x", None]
    assert found[2].fields["c"] == INFINITE


def wholes(to_ignite: RecordConverter, types: GrowingTypes, *texts: str) -> list[Any]:
    """Of each record the whole value, or why the record is bad."""
    found = to_ignite.convert(consumed([text.encode() for text in texts]))
    made: dict[int, Any] = {bad.row: bad.reason for bad in found.bad}
    made |= {int(row): value for row, (_, value) in zip(found.rows, decoded(found, types), strict=True)}
    return [made[row] for row in range(len(texts))]


def test_whole_doubles_that_our_snapshot_wrote_are_read_whatever_comes_first() -> None:
    source, types, numbers = Types(), GrowingTypes(), [-INFINITE, 1.5, INFINITE, 3.0, -0.0]
    to_ignite, found = record_converter(FREE, types), []
    for row, one in enumerate(numbers):  # a batch each
        records = converter("json").convert([page([(number(codes.LONG, row), number(codes.DOUBLE, one))])], FREE, source)
        found += wholes(to_ignite, types, records.values[0].as_py().decode())
    assert [struct.pack("<d", one) for one in found] == [struct.pack("<d", one) for one in numbers]
    assert guesses() == 1


def test_of_whole_values_the_rest_of_the_batch_tells_the_type() -> None:
    types = GrowingTypes()
    assert wholes(record_converter(FREE, types), types, ' "-Infinity" ', "1.5") == [-INFINITE, 1.5]
    texts = record_converter(FREE, types)
    assert wholes(texts, types, '"Infinity"', '"x"') == ["Infinity", "x"]
    assert wholes(texts, types, '"Infinity"') == ["Infinity"]
    assert not guesses()
    bad, *good = wholes(record_converter(FREE, types), types, '"Infinity"', '"x"', "1.5")
    assert "declare java.lang.Double or java.lang.String" in bad
    assert good == ["x", 1.5]


def test_a_whole_text_after_a_guess_is_read_and_such_texts_are_bad_from_then_on() -> None:
    types = GrowingTypes()
    to_ignite = record_converter(FREE, types)
    assert wholes(to_ignite, types, '"Infinity"') == [INFINITE]
    text, bad = wholes(to_ignite, types, '"x"', '"Infinity"')
    assert text == "x"
    assert "declare" in bad


def test_a_whole_key_is_a_text_unless_there_are_numbers() -> None:
    for texts, wanted, bad in ((['"NaN"'], ["NaN"], 0), (['"NaN"', '"x"'], ["NaN", "x"], 0), (['"NaN"', "1.5"], [1.5], 1)):
        types = GrowingTypes()
        found = record_converter(FREE, types).convert(consumed([b'{"v":1}'] * len(texts), [text.encode() for text in texts]))
        assert [key for key, _ in decoded(found, types)] == wanted
        assert len(found.bad) == bad
    assert guesses() == 1


def test_of_lists_that_have_only_such_texts_the_others_tell_the_type() -> None:
    types = GrowingTypes()
    to_ignite = record_converter(FREE, types)
    assert values(to_ignite, types, '{"a":["Infinity"]}', '{"a":["x"]}') == [["Infinity"], ["x"]]
    assert values(to_ignite, types, '{"a":["Infinity"]}') == [["Infinity"]]
    assert not guesses()
    to_ignite = record_converter(FREE, types)
    for _ in range(2):
        assert values(to_ignite, types, '{"a":["Infinity"]}', '{"a":["-Infinity"]}') == [[INFINITE], [-INFINITE]]
    assert guesses() == 1
    assert wholes(record_converter(FREE, types), types, '["Infinity"]') == [[INFINITE]]
    assert guesses() == 2
