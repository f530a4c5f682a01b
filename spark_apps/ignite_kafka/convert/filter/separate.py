"""Finds the rows for which a filter fails, so that the others are still decided."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...common.arrays import Mask
from ...errors import DecodeError, IgniteKafkaError, UnsupportedType

ROW_ERRORS = (DecodeError, UnsupportedType)
"""Errors of a whole batch that a single row can cause."""


Decided = tuple[Mask, dict[int, IgniteKafkaError]]
"""N flags of the rows to keep, and the errors of single rows, which are not kept."""


def each_row(count: int, evaluate: Callable[[int, int], Decided]) -> Decided:
    """Flags of N rows, and the errors of single rows, by bisection; a row with an error has the flag false.

    :param evaluate: evaluates the rows from the first number to the second (excluded); raises an error of
        :data:`ROW_ERRORS` if any of them fails.
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
