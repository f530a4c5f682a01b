"""Pages that are read more than once are joined once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ignite_kafka.ignite.binary import JoinedPages, decode_entries, kept_rows
from ignite_kafka.ignite.binary.page_buffer import PageBuffer
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import CacheInfo, Page, TypeSource
from tests.support.ignite_bytes import CACHE, Types, binary, number, page, wrapped

TYPES = Types()
KIND = TYPES.add("T", {"a": codes.INT})


def value(number_of: int) -> bytes:
    return wrapped(binary(KIND, {"a": number(codes.INT, number_of)}))


PAGES = [page([(number(codes.LONG, key), value(key)) for key in keys], partition) for partition, keys in enumerate(([1, 2], [], [3, 4, 5]))]


def test_pages_are_joined_by_the_first_look(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    join = PageBuffer.of

    def counting(pages: Sequence[Page], cache: CacheInfo, types: TypeSource) -> PageBuffer:
        calls.append(len(pages))
        return join(pages, cache, types)

    monkeypatch.setattr(PageBuffer, "of", staticmethod(counting))
    pages = JoinedPages(PAGES, CACHE, TYPES)
    (group,) = decode_entries(pages, CACHE, TYPES)
    found = kept_rows(pages, np.array([False, True, True, True, False]), CACHE, TYPES)
    assert calls == [3]
    assert group.key.to_pylist() == [1, 2, 3, 4, 5]
    assert [(one.partition, one.rows, one.last) for one in found] == [(0, 1, True), (1, 0, True), (2, 2, True)]
    assert decode_entries(found, CACHE, TYPES)[0].value.to_pylist() == [{"a": 2}, {"a": 3}, {"a": 4}]


def test_it_is_a_sequence_of_the_pages() -> None:
    pages = JoinedPages(PAGES, CACHE, TYPES)
    assert (len(pages), list(pages), pages[0], pages[1:]) == (3, PAGES, PAGES[0], tuple(PAGES[1:]))
    assert pages.starts.tolist()[0] == 0
    assert len(pages.starts) == 6
    assert pages.starts[-1] == sum(len(one.data) for one in PAGES)
