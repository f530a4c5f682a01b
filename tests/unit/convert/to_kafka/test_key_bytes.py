"""Bytes of a key in Kafka depend on its bytes in Ignite and its own schema alone.

Not on its batch, its page, the node asked, the process, or what its class got later.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ignite_kafka.errors import UnsupportedType
from ignite_kafka.ignite.binary.row_values import EnumValue
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.java.hash_code import java_hash
from tests.support.ignite_bytes import CACHE, NULL, Types, binary, enum, page, wrapped
from tests.support.ignite_keys import any_key, key_types
from tests.support.key_converters import KEY_CONVERTERS
from tests.support.randomness import examples


def keys_of(name: str, keys: Sequence[bytes], types: Types, pages: int = 1) -> list[bytes]:
    entries = [(wrapped(key) if key[0] == codes.OBJECT else key, NULL) for key in keys]
    cuts = [len(entries) * at // pages for at in range(pages + 1)]
    parts = [page(entries[start:end], partition=number) for number, (start, end) in enumerate(pairwise(cuts))]
    made = KEY_CONVERTERS[name]()
    return list(made.convert(parts, CACHE, types, in_order=True).keys.to_pylist())


@pytest.mark.parametrize("name", KEY_CONVERTERS)
@settings(max_examples=examples(60), deadline=None)
@given(st.lists(any_key(), min_size=1, max_size=8), st.integers(1, 4), st.integers(0, 9), st.booleans())
def test_a_key_has_the_bytes_that_it_has_alone(name: str, keys: list[bytes], pages: int, node: int, grown: bool) -> None:
    """Each conversion is that of a new process: it has a converter of its own."""
    alone = [_one(name, key, key_types()) for key in keys]
    good = [key for key, found in zip(keys, alone, strict=True) if found is not None]
    together = keys_of(name, good, key_types(node, grown=grown), pages) if good else []
    assert together == [found for found in alone if found is not None]


def _one(name: str, key: bytes, types: Types) -> bytes | None:
    try:
        return keys_of(name, [key], types)[0]
    except UnsupportedType:
        return None


@pytest.mark.parametrize("name", KEY_CONVERTERS)
def test_a_null_constant_is_written_alike_beside_another(name: str) -> None:
    """Under enum policy ORDINAL a column of nulls was one of names, and with schemas a key had two forms."""
    order = key_types().known[java_hash("order")]
    null, blue = bytes([codes.NULL]), enum(EnumValue(java_hash("color"), 2, "BLUE"))
    keys = [binary(order, {"price": null, "at": null, "color": one}) for one in (null, blue)]
    alone = [_one(name, key, key_types()) for key in keys]
    if None not in alone:
        assert keys_of(name, keys, key_types()) == alone
