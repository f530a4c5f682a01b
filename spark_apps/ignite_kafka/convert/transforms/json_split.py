"""Split of flat JSON objects into the texts of their members, for all records at once.

The texts are valid JSON. So a quote before a colon is one of three: the end of a name; the beginning of a string that
begins with a colon, after one of ``{ , :``; or a quote within a string, after a backslash. Objects that are not flat
are read one by one.
"""

from __future__ import annotations

import graphlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...common.arrays import Int32Array, Mask, RowIndex
from .json_tokens import bytes_of, text_token

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]

_QUOTE, _COLON, _COMMA, _BACKSLASH, _OPEN, _SPACE, _MINUS, _ZERO = b'":,\\{ -0'
_LOWER = 0x20  # turns [ into {
_AROUND = np.zeros(256, bool)
_AROUND[list(b"{}[],:")] = True
_BEFORE_TEXT = np.zeros(256, bool)
_BEFORE_TEXT[list(b"{,:\\")] = True
_BEFORE_NAME = np.zeros(256, bool)
_BEFORE_NAME[list(b"{,")] = True
_ENDS = np.zeros(256, bool)
_ENDS[list(b",}")] = True
_WORD = 8
_MOST_NAMES = 1_000  # more names are probably data, for which columns are useless


@dataclass(frozen=True)
class Split:
    """Members of the flat JSON objects among N texts.

    :param fit: N flags: whether the text could be split.
    :param members: members by name, in the order of the texts: ``"name":value`` for each text that could be split; null
        if the member is missing.
    """

    fit: Mask
    members: dict[str, pa.BinaryArray]


def split(texts: pa.BinaryArray) -> Split:
    """Split flat JSON objects into their members; other texts are left unsplit.

    Not split are: nulls; values other than objects; objects with a nested list or object, with an escaped or repeated
    name, or with the number -0, which Kafka Connect changes to 0; and a few objects with colons next to quotes in their
    strings.
    """
    fit = np.zeros(len(texts), bool)
    if not _is_utf8(texts):
        return Split(fit, {})
    rows = np.flatnonzero(np.asarray(texts.is_valid()))
    while rows.size:
        objects = _Objects(*_block(texts if rows.size == len(texts) else texts.take(pa.array(rows))))
        right, members = objects.members()
        rows = rows[right]
        if right.all():
            fit[rows] = True
            return Split(fit, members)
    return Split(fit, {})


def _is_utf8(texts: pa.BinaryArray) -> bool:
    """Return whether all texts are valid UTF-8."""
    try:
        texts.cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return True


def _block(texts: pa.BinaryArray) -> tuple[Bytes, Places]:
    """Return the bytes of all texts as one block without blanks outside strings, and the texts' N + 1 offsets."""
    offsets, block = bytes_of(texts)
    blank = np.flatnonzero(block <= _SPACE)
    if not blank.size:
        return block, offsets
    near = _AROUND[block[np.maximum(blank - 1, 0)]] | _AROUND[block[np.minimum(blank + 1, block.size - 1)]]
    if not near.any() and (block[blank] == _SPACE).all():
        return block, offsets
    outside = blank[~_in_texts(block, blank)]
    if not outside.size:
        return block, offsets
    kept = np.ones(block.size, bool)
    kept[outside] = False
    return block[kept], offsets - np.searchsorted(outside, offsets)


def _in_texts(block: Bytes, places: Places) -> Mask:
    """Return a mask of the places that are within quotes."""
    quotes = np.flatnonzero(block == _QUOTE)
    behind = quotes[block[np.maximum(quotes - 1, 0)] == _BACKSLASH]
    if behind.size:
        quotes = np.setdiff1d(quotes, behind[_mark_escaped(block, behind)], assume_unique=True)
    inside: Mask = np.searchsorted(quotes, places) % 2 == 1
    return inside


def _mark_escaped(block: Bytes, places: Places) -> Mask:
    """Return a mask of the places behind an odd number of backslashes, where a quote is escaped."""
    backslashes = np.flatnonzero(block == _BACKSLASH)
    begins = np.diff(backslashes, prepend=-2) != 1
    order = np.arange(backslashes.size)
    number = order - np.maximum.accumulate(np.where(begins, order, 0))
    odd: Mask = np.isin(places, backslashes[number % 2 == 0] + 1, assume_unique=True)
    return odd


class _Objects:
    """N JSON texts in one block of bytes, to be split if they are flat objects.

    :param block: the bytes of all texts, without blanks outside of quotes.
    :param offsets: N + 1 offsets of the texts in the block.
    """

    def __init__(self, block: Bytes, offsets: Places) -> None:
        self._block = block
        self._offsets = offsets
        self._count = offsets.size - 1

    def members(self) -> tuple[Mask, dict[str, pa.BinaryArray]]:
        """Return a mask of the texts that can be split and, if all can, their members."""
        block = self._block
        right = self._are_flat()
        if not right.all():
            return right, {}
        ends = np.flatnonzero((block[:-1] == _QUOTE) & (block[1:] == _COLON))
        first = np.searchsorted(ends, self._offsets)
        right[self._rows_of(ends[self._unclear(ends)])] = False
        if not right.all() or not ends.size:
            return right, {}
        size = int(first[1])
        if ends.size == size * self._count and (np.diff(first) == size).all():
            columns = self._of_one_shape(ends.reshape(self._count, size))
            if columns is not None:
                return right, columns
        return self._of_names(ends, np.repeat(np.arange(self._count), np.diff(first)))

    def _rows_of(self, places: Places) -> RowIndex:
        return np.searchsorted(self._offsets, places, "right") - 1

    def _are_flat(self) -> Mask:
        """Return a mask of the texts that are objects without another opening bracket outside strings."""
        block = self._block
        starts = self._offsets[:-1]
        right: Mask = block[starts] == _OPEN
        brackets = block | _LOWER == _OPEN
        if right.all() and np.count_nonzero(brackets) > self._count:
            inner = np.setdiff1d(np.flatnonzero(brackets), starts, assume_unique=True)
            right[self._rows_of(inner[~_in_texts(block, inner)])] = False
        return right

    def _unclear(self, ends: Places) -> Mask:
        """Return a mask of the places where a name may not end or the value is -0, so that the text is not split."""
        block = self._block
        last = self._block.size - 1
        unclear: Mask = _BEFORE_TEXT[block[ends - 1]]
        negative = np.flatnonzero(block[ends + 2] == _MINUS)
        if negative.size:
            at = ends[negative] + 3
            unclear[negative] |= (block[at] == _ZERO) & _ENDS[block[np.minimum(at + 1, last)]]
        return unclear

    def _of_one_shape(self, ends: Places) -> dict[str, pa.BinaryArray] | None:
        """Return the members if all objects have the same names in the same order; otherwise None.

        :param ends: N rows of places: the quotes at the ends of names.
        """
        head = self._block[: self._offsets[1]].tobytes()
        names = [head[head.rfind(b'"', 0, end) + 1 : end] for end in ends[0].tolist()]
        if len(set(names)) < len(names) or not all(map(_is_plain, names)):
            return None
        sizes = np.array([len(name) + 2 for name in names])
        begins = ends - sizes
        if not np.array_equal(begins[:, 0], self._offsets[:-1]):
            return None
        if not self._are(ends, [(b',"' if number else b'{"') + name for number, name in enumerate(names)]):
            return None
        behind = np.concatenate([begins[:, 1:], self._offsets[1:, None] - 1], axis=1)
        # a row for each name
        starts, stops = (np.ascontiguousarray(places.astype(np.int32).T) for places in (begins + 1, behind))
        return {name.decode(): pieces(self._block, starts[at], stops[at]) for at, name in enumerate(names)}

    def _are(self, ends: Places, texts: Sequence[bytes]) -> bool:
        """Return whether the given texts, such as quoted names, stand directly before the places of each row."""
        padded = np.concatenate([np.zeros(_WORD, np.uint8), self._block])
        # the eight bytes before each place
        words = np.ndarray((padded.size - _WORD + 1,), "<u8", padded.data, strides=(1,))
        for done in range(0, max(map(len, texts)), _WORD):
            columns = [number for number, text in enumerate(texts) if len(text) > done]
            parts = [texts[number][: len(texts[number]) - done][-_WORD:] for number in columns]
            places = (ends if len(columns) == len(texts) else ends[:, columns]) - done
            actual = words[places] >> np.array([8 * (_WORD - len(part)) for part in parts], np.uint64)
            if (actual != np.array([int.from_bytes(part, "little") for part in parts], np.uint64)).any():
                return False
        return True

    def _of_names(self, ends: Places, row: RowIndex) -> tuple[Mask, dict[str, pa.BinaryArray]]:
        """Return a mask of the texts that can be split, and the members of objects with different names.

        :param ends: M places: the quotes at the ends of names. :param row: number of the text of each place.
        """
        quotes = np.flatnonzero(self._block == _QUOTE)
        begins = quotes[np.searchsorted(quotes, ends) - 1]
        right = np.ones(self._count, bool)
        wrong = ~_BEFORE_NAME[self._block[begins - 1]]  # a quote within the name
        if wrong.any():
            right[row[wrong]] = False
            return right, {}
        encoded = pieces(self._block, begins + 1, ends, missing=False).dictionary_encode()
        names = encoded.dictionary.to_pylist()
        number = np.asarray(encoded.indices).astype(np.int64)
        escaped = np.array([not _is_plain(name) for name in names]) | (len(names) > _MOST_NAMES)
        if escaped.any():
            right[row[escaped[number]]] = False
            return right, {}
        order = _order(names, number, row)
        rank = np.argsort(order)[number]
        same = row[1:] == row[:-1]
        right[row[1:][same & (rank[1:] <= rank[:-1])]] = False
        if not right.all():
            return right, {}
        behind = np.append(begins[1:] - 1, 0)
        last = np.append(~same, True)
        behind[last] = self._offsets[row[last] + 1] - 1
        starts = np.repeat(self._offsets[None, :-1], len(names), axis=0)
        stops = starts.copy()
        starts[rank, row], stops[rank, row] = begins, behind
        return right, {
            names[name_number].decode(): pieces(self._block, starts[at], stops[at])
            for at, name_number in enumerate(order.tolist())
        }


def _is_plain(name: bytes) -> bool:
    """Return whether a name needs no escapes in JSON as Jackson writes it."""
    return text_token(name.decode()) == b'"' + name + b'"'


def _order(names: Sequence[bytes], number: RowIndex, row: RowIndex) -> RowIndex:
    """Return the names' numbers in an order that suits all texts; in the given order if there is none."""
    same = row[1:] == row[:-1]
    pairs = np.unique(number[:-1][same] * len(names) + number[1:][same])
    before: dict[int, set[int]] = {at: set() for at in range(len(names))}
    for pair in pairs.tolist():
        before[pair % len(names)].add(pair // len(names))
    try:
        return np.array(list(graphlib.TopologicalSorter(before).static_order()), np.int64)
    except graphlib.CycleError:
        return np.arange(len(names))


def pieces(
    block: Bytes, begins: Places | Int32Array, ends: Places | Int32Array, *, missing: bool = True
) -> pa.BinaryArray:
    """Return the texts between pairs of ascending places in a block of bytes.

    :param missing: whether an empty text becomes null.
    """
    cuts = np.empty(2 * begins.size, np.int32)
    cuts[::2], cuts[1::2] = begins, ends
    every = pa.Array.from_buffers(
        pa.binary(), cuts.size - 1, [None, pa.py_buffer(cuts), pa.py_buffer(np.ascontiguousarray(block))]
    )
    empty = begins == ends
    return every.take(pa.array(np.arange(0, cuts.size, 2), mask=empty if missing and empty.any() else None))
