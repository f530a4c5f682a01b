"""Users' Python functions, which settings name as ``package.module:function``.

Settings are data (docs/security.md): they can select only functions that their author has marked.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import pyarrow as pa

from ..errors import SettingsError

MaskFunction = Callable[[pa.RecordBatch], Any]
"""Filter function: it gets a batch of N rows and returns N booleans, in Arrow, numpy or a list."""

F = TypeVar("F", bound=Callable[..., Any])
FILTER = "filter"
TRANSFORM = "transform"
_MARK = "ignite_kafka_functions"  # attribute of a function with its allowed uses in settings


def filter_function(function: F) -> F:
    """Mark a Python function, so that setting ``filter`` may name it.

    The function gets an Arrow batch, and returns a boolean for each row (docs/filter.md).

    >>> import ignite_kafka, pyarrow.compute
    >>> @ignite_kafka.filter_function
    ... def rich(batch):
    ...     return pyarrow.compute.greater(batch["price"], 100)
    """
    return _mark(function, FILTER)


def transform_function(function: F) -> F:
    """Mark a Python function, so that a transform's type may name it.

    The function gets and returns an Arrow batch of records (docs/transforms-setup.md).

    >>> import ignite_kafka, pyarrow.compute
    >>> @ignite_kafka.transform_function
    ... def large(batch, least):
    ...     return batch.filter(pyarrow.compute.greater_equal(batch["value"].field("amount"), float(least)))
    """
    return _mark(function, TRANSFORM)


def _mark(function: F, use: str) -> F:
    setattr(function, _MARK, (*_marks(function), use))
    return function


def _marks(function: Any) -> tuple[str, ...]:
    marks = getattr(function, _MARK, ())
    return marks if isinstance(marks, tuple) else ()


def user_function(name: str, use: str, **where: str) -> Callable[..., Any]:
    """Import a user's function by its name ``package.module:function``.

    Modules of the standard library are refused before they are imported, because the import of some has effects, and
    none has a marked function.

    :param use: :data:`FILTER` or :data:`TRANSFORM`.
    :param where: place of the error, such as the setting.
    :raises SettingsError: the function cannot be imported here, or is not marked for this use.
    """
    module, _, attribute = name.partition(":")
    unmarked = SettingsError(
        f"{use} names {name}, which is no {use} function",
        f"Put @ignite_kafka.{use}_function above its definition: settings call no other function",
        **where,
    )
    if module.partition(".")[0] in sys.stdlib_module_names:
        raise unmarked
    try:
        function: Any = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, SyntaxError, TypeError, ValueError) as error:
        what = f"{use} names {name}, which cannot be imported here: {error}"
        remedy = "Give its module to Spark (--py-files), or install it on the driver and each executor"
        raise SettingsError(what, remedy, **where) from error
    if not callable(function) or use not in _marks(function):
        raise unmarked
    imported: Callable[..., Any] = function
    return imported
