"""Functions of the user, by their names in settings: ``package.module:function``."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from ...errors import SettingsError

MaskFunction = Callable[[pa.RecordBatch], Any]
"""Gets a batch of N rows, and returns N flags: an Arrow array, a numpy array or a list of booleans."""


def mask_function(name: str) -> MaskFunction:
    """The function of a name ``package.module:function``.

    :raises SettingsError: it cannot be imported here.
    """
    module, _, function = name.partition(":")
    try:
        found: Any = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        what = f"filter names {name}, which cannot be imported here: {error}"
        remedy = "Give its module to Spark (--py-files), or install it on the driver and each executor"
        raise SettingsError(what, remedy, setting="filter") from error
    if not callable(found):
        raise SettingsError(f"filter names {name}, which is no function", "Name a function", setting="filter")
    made: MaskFunction = found
    return made
