"""The header of values with a registered schema."""

from __future__ import annotations

import pyarrow as pa

from ignite_kafka.convert.rules.registry_header import HEADER_BYTES, registry_header, schema_ids


def test_ids_are_read_as_they_are_written() -> None:
    ids = [0, 1, 258, 2**31 - 1]
    values = pa.array([b"", *(registry_header(one) + b"body" for one in ids), registry_header(7)], pa.binary())
    found, reasons = schema_ids(values[1:])  # a slice: offsets do not begin at 0
    assert (found.tolist(), reasons) == ([*ids, 7], {})
    assert len(registry_header(7)) == HEADER_BYTES


def test_values_without_an_id_have_reasons() -> None:
    found, reasons = schema_ids(pa.array([b"", b"\0\0\0\1", b"{}   ", b"\0\x80\0\0\0", registry_header(3)], pa.binary()))
    assert found.tolist() == [-1, -1, -1, -1, 3]
    assert reasons == {
        0: "0 bytes, and a value of a schema registry has 5 before its body",
        1: "4 bytes, and a value of a schema registry has 5 before its body",
        2: "the first byte is 123, and a value of a schema registry begins with 0",
        3: "the schema id is negative",
    }


def test_an_empty_batch() -> None:
    found, reasons = schema_ids(pa.array([], pa.binary()))
    assert (found.tolist(), reasons) == ([], {})
