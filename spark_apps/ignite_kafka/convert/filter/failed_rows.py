"""Separation of the rows on which a filter fails, to still decide the other rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...common.arrays import Mask
from ...errors import DecodeError, IgniteKafkaError, UnsupportedType

ROW_ERRORS = (DecodeError, UnsupportedType)
"""Errors of a batch that may come from a single row, so that a smaller batch may succeed."""


Decided = tuple[Mask, dict[int, IgniteKafkaError]]
"""Mask of the rows to keep, and the error of each row that could not be decided."""


def decide_each_row(count: int, evaluate: Callable[[int, int], Decided]) -> Decided:
    """Decide N rows, in halves where a batch fails, so that only the failing rows have errors.

    :param evaluate: function that decides the rows from the first number to the second (excluded); it raises an error
        of :data:`ROW_ERRORS` if any of these rows fails.
    """
    kept: Mask = np.zeros(count, bool)
    errors: dict[int, IgniteKafkaError] = {}

    def part(first: int, last: int) -> None:
        try:
            kept[first:last], own = evaluate(first, last)
            errors.update({first + row: error for row, error in own.items()})
        except ROW_ERRORS as error:
            if last - first == 1:
                errors[first] = error
                return
            middle = (first + last) // 2
            part(first, middle)
            part(middle, last)

    if count:
        part(0, count)
    return kept, errors
