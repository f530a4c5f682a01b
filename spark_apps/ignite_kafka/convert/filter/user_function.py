"""Functions of the user, by their names in settings: ``package.module:function``.

Settings are data (docs/security.md): they choose among functions that an author has marked, and call no other.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

import pyarrow as pa

from ...errors import SettingsError

MaskFunction = Callable[[pa.RecordBatch], Any]
"""Gets a batch of N rows, and returns N flags: an Arrow array, a numpy array or a list of booleans."""


F = TypeVar("F", bound=Callable[..., Any])
_MARK = "ignite_kafka_filter"


def filter_function(function: F) -> F:
    """Mark a function that setting ``filter`` may name: it gets an Arrow batch, and returns a boolean for each row (docs/filter.md).

    >>> import ignite_kafka, pyarrow.compute
    >>> @ignite_kafka.filter_function
    ... def rich(batch):
    ...     return pyarrow.compute.greater(batch["price"], 100)
    """
    setattr(function, _MARK, True)
    return function


def mask_function(name: str) -> MaskFunction:
    """The function of a name ``package.module:function``.

    :raises SettingsError: it cannot be imported here, or is not marked by :func:`filter_function`.
    """
    module, _, function = name.partition(":")
    try:
        found: Any = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        what = f"filter names {name}, which cannot be imported here: {error}"
        remedy = "Give its module to Spark (--py-files), or install it on the driver and each executor"
        raise SettingsError(what, remedy, setting="filter") from error
    if not callable(found) or getattr(found, _MARK, None) is not True:
        remedy = "Put @ignite_kafka.filter_function above its definition: settings call no other function"
        raise SettingsError(f"filter names {name}, which is no filter function", remedy, setting="filter")
    made: MaskFunction = found
    return made
