"""Values without a schema: numbers that no transform touches keep their text."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ignite_kafka.convert.connect import ConnectColumn
from ignite_kafka.convert.transforms.schemaless import double_text, in_hash_order, parsed, written

TEXTS = [b'{"a":1.10,"b":[12345678901234567890,true,null,"\xc3\xa9\\n"]}', b"1E2", None, b"null"]


def test_values_are_written_as_they_were_read() -> None:
    column = ConnectColumn(pa.array(TEXTS, pa.binary()), None)
    assert written(parsed(column)).data.to_pylist() == [*TEXTS[:3], None]


@pytest.mark.parametrize(("value", "wanted"), [(1e10, "1.0E10"), (0.1, "0.1"), (float("inf"), '"Infinity"')])
def test_doubles_have_the_text_of_jackson(value: float, wanted: str) -> None:
    assert double_text(value) == wanted


def test_names_have_the_order_of_a_java_hash_map() -> None:
    assert in_hash_order(["zz", "Aa", "b", "BB", "a"]) == ["zz", "Aa", "BB", "a", "b"]  # Aa and BB have one hash
