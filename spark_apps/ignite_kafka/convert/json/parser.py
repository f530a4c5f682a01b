"""Parser of many JSON records in one call of Arrow, as strict as parsing each record alone.

Records that Arrow cannot parse are found by bisection.

Records are concatenated and parsed as one block. No record can extend into the next: each begins with `{` and ends with
`}` (other records are put into an object first, or left out), and the text between two records, `}` line feed `{`,
never occurs inside of a JSON value. So every record holds at least one value; if there are as many values as records,
each record holds exactly one value.

Arrow is used although polars is a third faster: polars accepts equal names, of which it takes the last, numbers as
texts, and half of a surrogate pair (docs/decisions/0012-json-to-columns.md).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from ...common.arrays import Mask

_BINARY = pa.binary()
_NOTHING = pa.scalar(b"", _BINARY)
_LINE = pa.scalar(b"\n", _BINARY)
_OPEN = pa.scalar(b'{"":', _BINARY)
_CLOSE = pa.scalar(b"}\n", _BINARY)
# a null instead of a record ends the process (pyarrow 26)
_NULL_RECORD = re.compile(rb"\}[ \t\r\n]*null")
_SMALLEST = 32  # a call of the parser costs as much as reading ten rows one by one, and a bisection makes several calls


def parsed(
    texts: pa.BinaryArray, kind: pa.DataType, *, ignore: bool = False
) -> Iterator[tuple[slice, pa.Array | None]]:
    """Parse JSON texts as columns, and yield each run of rows with its column.

    The column is None for rows that must be read one by one.

    :param texts: JSON texts, none null; objects if `kind` is a struct.
    :param ignore: ignore members of objects that the struct does not have; otherwise such rows must be read one by one.
    """
    if pa.types.is_struct(kind):
        texts = _trim(texts)
        fit = _are_objects(texts)
        schema = pa.schema(list(kind))
        whole = pc.binary_join_element_wise(texts, _NOTHING, _LINE)
    else:
        fit = np.asarray(pc.greater(pc.binary_length(texts), 0))
        schema = pa.schema([("", kind)])
        whole = pc.binary_join_element_wise(_OPEN, texts, _CLOSE, _NOTHING)
    for run in _runs(fit):
        if not fit[run.start]:
            yield run, None
            continue
        for part, table in _halve(whole, run, schema, "ignore" if ignore else "error"):
            if table is None:
                yield part, None
            elif pa.types.is_struct(kind):
                columns = [_whole(column) for column in table.columns]
                yield part, pa.StructArray.from_arrays(columns, fields=list(kind))
            else:
                yield part, _whole(table.column(0))


def _halve(
    whole: pa.BinaryArray, rows: slice, schema: pa.Schema, unexpected: str
) -> Iterator[tuple[slice, pa.Table | None]]:
    waiting = [rows]
    while waiting:
        part = waiting.pop()
        table = _read(whole.slice(part.start, part.stop - part.start), schema, unexpected)
        if table is not None or part.stop - part.start <= _SMALLEST:
            yield part, table
        else:
            middle = (part.start + part.stop) // 2
            waiting += [slice(middle, part.stop), slice(part.start, middle)]


def _read(texts: pa.BinaryArray, schema: pa.Schema, unexpected: str) -> pa.Table | None:
    """Parse texts as a table with a row for each; None if Arrow cannot, or cannot safely."""
    offsets = np.frombuffer(texts.buffers()[1], np.int32, len(texts) + 1, texts.offset * 4)
    block = texts.buffers()[2].slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
    if _NULL_RECORD.search(block) or not np.frombuffer(block, np.uint8).all():  # Arrow reads a zero byte as the end
        return None
    try:
        texts.cast(pa.string())  # the parser does not check for UTF-8
        table = pj.read_json(
            pa.BufferReader(block),
            pj.ReadOptions(use_threads=False, block_size=block.size + 1),
            pj.ParseOptions(explicit_schema=schema, newlines_in_values=False, unexpected_field_behavior=unexpected),
        )
    except pa.ArrowInvalid:
        return None
    return table if table.num_rows == len(texts) else None


def _trim(texts: pa.BinaryArray) -> pa.BinaryArray:
    if _are_objects(texts).all():
        return texts
    return pc.ascii_trim(texts.view(pa.string()), " \t\r\n").view(_BINARY)


def _are_objects(texts: pa.BinaryArray) -> Mask:
    """Return a mask of the texts that begin with { and end with }."""
    offsets = np.frombuffer(texts.buffers()[1], np.int32, len(texts) + 1, texts.offset * 4)
    data = texts.buffers()[2]
    if data is None or not data.size:
        return np.zeros(len(texts), bool)
    letters = np.frombuffer(data, np.uint8)
    nonempty = offsets[1:] > offsets[:-1]
    first = letters[np.minimum(offsets[:-1], letters.size - 1)]
    last = letters[offsets[1:] - 1]
    fit: Mask = nonempty & (first == ord("{")) & (last == ord("}"))
    return fit


def _runs(flags: Mask) -> Iterator[slice]:
    """Yield the slices of consecutive equal flags."""
    if flags.size:
        cuts = [0, *(np.flatnonzero(np.diff(flags)) + 1).tolist(), flags.size]
        yield from (slice(a, b) for a, b in itertools.pairwise(cuts))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
