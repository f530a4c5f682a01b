"""Pushdown of filters to data source `ignite`: conditions on whole keys become gets by key.

The pushdown is optional, because PySpark refuses readers with ``pushFilters`` in sessions without pushdown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from ..ignite.binary.entry_table import is_own
from ..ignite.cache_reader import encodable
from .spark_api import EqualTo, Filter, In, push_filters

Push = Callable[[Any, list[Filter]], Iterable[Filter]]
Keys = tuple[object, ...]
_KEY = ("_key",)


def split_key_conditions(
    filters: Iterable[Filter], schema: pa.Schema, partitions: tuple[int, ...] | None
) -> tuple[Keys | None, list[Filter]]:
    """Turn the first condition on whole keys into gets by key, and leave the other conditions to Spark.

    Spark evaluates the other conditions on the rows of these keys.

    No condition is turned into gets if only some partitions are read, because a get finds keys of other partitions,
    too; or if the schema is not the cache's own, because only the own schema has the Ignite type of the key.

    :param partitions: partitions to read; None: all.
    :returns: the keys to get, None for a scan; and the conditions that are left to Spark.
    """
    gets = partitions is None and is_own(schema)
    keys: Keys | None = None
    left = []
    for condition in filters:
        keys_of_condition = _keys_of(condition, schema.field("_key")) if gets else None
        if keys_of_condition is None or keys is not None:
            left.append(condition)
        else:
            keys = keys_of_condition
    return keys, left


def _keys_of(condition: Filter, column: pa.Field) -> Keys | None:
    """Return the keys in a condition on the whole key; None for another condition, or if a key cannot be encoded."""
    if isinstance(condition, EqualTo) and condition.attribute == _KEY:
        keys: Keys = (condition.value,)
    elif isinstance(condition, In) and condition.attribute == _KEY:
        keys = tuple(condition.value)
    else:
        return None
    return keys if all(encodable(key, column) for key in keys) else None


class optional_pushdown:  # noqa: N801  # a decorator, as property and cached_property are
    """Decorator for a reader's ``pushFilters``, so that PySpark accepts the reader in sessions without pushdown.

    PySpark 4.2 raises DATA_SOURCE_PUSHDOWN_DISABLED if ``spark.sql.python.filterPushdown.enabled`` is false, its
    default, and the reader's ``pushFilters`` is not its base class's by ``__func__``
    (pyspark/sql/worker/plan_data_source_read.py). The reader works without the pushdown too, only slower; so the
    decorated method has the ``__func__`` of the base class. PySpark 4.0 never calls it.
    """

    def __init__(self, push: Push) -> None:
        self._push = push
        self.__doc__ = push.__doc__

    def __get__(self, reader: Any, owner: type | None = None) -> Callable[[list[Filter]], Iterable[Filter]]:
        return _Bound(self._push, reader)


class _Bound:
    __func__ = staticmethod(push_filters)

    def __init__(self, push: Push, reader: Any) -> None:
        self._push = push
        self._reader = reader

    def __call__(self, filters: list[Filter]) -> Iterable[Filter]:
        return self._push(self._reader, filters)
