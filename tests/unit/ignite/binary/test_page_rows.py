"""Pages are cut to some entries, whatever the entries are."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ignite_kafka.errors import DecodeError
from ignite_kafka.ignite.binary import kept_rows, raw_entries, with_nulls
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import Page
from tests.support.ignite_bytes import CACHE, NULL, Types, binary, number, page, string, wrapped

TYPES = Types()
KIND = TYPES.add("T", {"a": codes.INT})
OBJECT = binary(KIND, {"a": number(codes.INT, 7)})
PARTS = st.sampled_from(
    [number(codes.INT, 1), string("x"), string("abc" * 9), wrapped(OBJECT), wrapped(OBJECT, b"four"), wrapped(OBJECT, b"12345"), OBJECT]
)
PAGES = st.lists(st.lists(st.tuples(PARTS, PARTS | st.just(NULL)), max_size=6), min_size=1, max_size=3)


def entries_of(pages: Sequence[Page]) -> list[tuple[bytes, bytes]]:
    return [entry for one in pages for entry in raw_entries(one)]


@given(PAGES, st.randoms(use_true_random=False))
def test_kept_entries_are_those_of_the_flags(entries: list[list[tuple[bytes, bytes]]], chance: random.Random) -> None:
    pages = [page(one, partition) for partition, one in enumerate(entries)]
    kept = np.array([chance.random() < 0.5 for one in entries for _ in one], bool)
    found = kept_rows(pages, kept, CACHE, TYPES)
    assert [one.partition for one in found] == list(range(len(pages)))
    assert entries_of(found) == [entry for entry, keep in zip(entries_of(pages), kept, strict=True) if keep]
    nulled = with_nulls(pages, ~kept, CACHE)
    assert entries_of(nulled) == [(key, value if keep else NULL) for (key, value), keep in zip(entries_of(pages), kept, strict=True)]


@pytest.mark.parametrize(("key", "value"), [(string("k"), wrapped(OBJECT)), (wrapped(OBJECT), wrapped(OBJECT)), (string("k"), string("v"))])
def test_usual_entries_are_not_looked_at_one_by_one(key: bytes, value: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ignite_kafka.ignite.binary.joined_pages.entry_cuts", None)
    found = kept_rows([page([(key, value)] * 5)], np.array([True, False, True, False, True]), CACHE, TYPES)
    assert [(one.rows, len(one.data)) for one in found] == [(3, 3 * len(key + value))]


def test_a_broken_page_is_refused() -> None:
    broken = Page(3, 2, memoryview(string("k") + string("v") + b"?"), True)
    with pytest.raises(DecodeError, match="partition 3"):
        kept_rows([broken], np.array([True, False]), CACHE, TYPES)
