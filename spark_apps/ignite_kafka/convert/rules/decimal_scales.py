"""Scales of decimals that query entities declare; Connect's Decimal needs them, for Ignite stores none per column.

BASE64 writes only the unscaled value, as Kafka Connect's Decimal does, so its reader needs the scale. Ignite keeps the
scale of each value (12.5 in a DECIMAL(10,2) column has scale 1). So values are written at the declared scale, the only
scale known to a reader.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from decimal import Decimal

import pyarrow as pa

from ... import events
from ...ignite.types.model import CacheInfo, QueryField
from ...ignite.types.type_table import mark_of
from ...java.hash_code import java_hash

Path = tuple[str, ...]
"""Path of a decimal from the key or value down: lower-case field names; empty: the key or value itself."""

DECIMAL_CLASS = "java.math.BigDecimal"
_SCALE = b"ignite.scale"
_DECIMALS = (DECIMAL_CLASS, f"[L{DECIMAL_CLASS};")


def declared_scales(cache: CacheInfo, type_id: int | None, *, key: bool) -> dict[Path, int]:
    """Return the scales that query entities declare for decimals of a type, by path.

    :param type_id: type id of the objects; None: keys or values are not objects.
    """
    scales: dict[Path, int] = {}
    for entity in cache.query_entities:
        name, whole = (entity.key_type, entity.key_field) if key else (entity.value_type, entity.value_field)
        if type_id is None:
            columns: list[tuple[Path, QueryField]] = [
                ((), field)
                for field in entity.fields
                if name == DECIMAL_CLASS and whole and field.name.lower() == whole.lower()
            ]
        elif java_hash(name.lower()) == type_id:
            columns = [(tuple(field.name.lower().split(".")), field) for field in entity.fields if field.is_key == key]
        else:
            continue
        scales |= {path: field.scale for path, field in columns if path not in scales and _has_scale(field)}
    return scales


def _has_scale(column: QueryField) -> bool:
    return column.java_type in _DECIMALS and column.scale >= 0


def with_scales(field: pa.Field, scales: Mapping[Path, int], path: Path = ()) -> pa.Field:
    """Return an Arrow field whose decimals carry their declared scales as metadata."""
    kind = field.type
    if not scales:
        return field
    if pa.types.is_struct(kind):
        return field.with_type(pa.struct([with_scales(child, scales, (*path, child.name.lower())) for child in kind]))
    if pa.types.is_list(kind):
        return field.with_type(pa.list_(with_scales(kind.value_field, scales, path)))
    if is_decimal(field) and path in scales:
        return field.with_metadata({**(field.metadata or {}), _SCALE: str(scales[path]).encode()})
    return field


def scale_of(field: pa.Field) -> int | None:
    """Return the declared scale in a field's metadata, put there by :func:`with_scales`; None without one."""
    scale = (field.metadata or {}).get(_SCALE)
    return None if scale is None else int(scale)


def scale_of_text(text: str) -> int:
    """Return the scale of a number's text, as java.math.BigDecimal has it: 2 for ``1.50``, -2 for ``1E+2``."""
    exponent = Decimal(text).as_tuple().exponent
    assert isinstance(exponent, int)
    return -exponent


def is_decimal(field: pa.Field) -> bool:
    """Return whether a field holds BigDecimals, whether as Arrow decimals or as text."""
    return pa.types.is_decimal(field.type) or (pa.types.is_string(field.type) and mark_of(field) == "decimal")


def without_scale(field: pa.Field, path: str = "") -> Iterator[str]:
    """Yield the paths of the decimals in a field that have no declared scale, such as ``total`` or ``prices[]``."""
    kind = field.type
    if pa.types.is_struct(kind):
        for child in kind:
            yield from without_scale(child, f"{path}.{child.name}" if path else child.name)
    elif pa.types.is_list(kind):
        yield from without_scale(kind.value_field, f"{path}[]")
    elif pa.types.is_map(kind):
        yield from without_scale(kind.key_field, f"{path}{{key}}")
        yield from without_scale(kind.item_field, f"{path}{{}}")
    elif pa.types.is_union(kind):
        for number in range(kind.num_fields):
            yield from without_scale(kind.field(number), path)
    elif is_decimal(field) and scale_of(field) is None:
        yield path


@functools.cache
def warn_without_scale(cache: str, part: str, field: str) -> None:
    """Report, once per process, a decimal without a declared scale, which readers cannot scale correctly.

    :param part: `key` or `value`. :param field: path of the decimal; empty: the key or value itself.
    """
    events.emit(events.DECIMAL_WITHOUT_SCALE, cache=cache, field=f"{part}.{field}" if field else part)
