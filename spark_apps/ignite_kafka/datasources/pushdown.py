"""Optional filter pushdown, because PySpark refuses readers with ``pushFilters`` in sessions without pushdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .spark_api import Filter, push_filters

Push = Callable[[Any, list[Filter]], Iterable[Filter]]


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
