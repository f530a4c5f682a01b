"""Filter pushdown that a session may leave off: without it, PySpark refuses a reader that has ``pushFilters``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pyspark.sql.datasource import DataSourceReader, Filter

Push = Callable[[Any, list[Filter]], Iterable[Filter]]


class optional_pushdown:  # noqa: N801  # a decorator, as property and cached_property are
    """Decorator of a reader's ``pushFilters``: it is called where the session pushes filters down, and else Spark evaluates them all.

    PySpark 4.2 raises DATA_SOURCE_PUSHDOWN_DISABLED where ``spark.sql.python.filterPushdown.enabled`` is false, its default, and the
    reader's ``pushFilters`` is not the one of its base class, told by ``__func__`` (pyspark/sql/worker/plan_data_source_read.py). A reader
    that answers without the pushdown as well, only slower, need not be refused, so the method names the base class's there.
    """

    def __init__(self, push: Push) -> None:
        self._push = push
        self.__doc__ = push.__doc__

    def __get__(self, reader: Any, owner: type | None = None) -> Callable[[list[Filter]], Iterable[Filter]]:
        return _Bound(self._push, reader)


class _Bound:
    __func__ = staticmethod(DataSourceReader.pushFilters)

    def __init__(self, push: Push, reader: Any) -> None:
        self._push, self._reader = push, reader

    def __call__(self, filters: list[Filter]) -> Iterable[Filter]:
        return self._push(self._reader, filters)
