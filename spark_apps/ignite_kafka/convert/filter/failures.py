"""Rows for which Spark SQL raises an error instead of a result, such as a division by zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ...common.arrays import Mask
from ...errors import ConditionFailed


@dataclass(frozen=True)
class Failure:
    """N flags of rows with an error, at least one of them true, and the first error's reason."""

    rows: Mask
    why: str


def failure(rows: Mask, why: str) -> Failure | None:
    """The failure of some rows; None if there are none."""
    return Failure(rows, why) if rows.any() else None


def within(found: Failure | None, evaluated: Mask | pa.BooleanArray) -> Failure | None:
    """The failures of the rows for which Spark evaluates an operand.

    :param evaluated: N flags, none null.
    """
    return None if found is None else failure(found.rows & np.asarray(evaluated), found.why)


def either(*failures: Failure | None) -> Failure | None:
    """The failures of several operands."""
    found = [one for one in failures if one is not None]
    if not found:
        return None
    return Failure(np.logical_or.reduce([one.rows for one in found]), found[0].why)


def check(found: Failure | None) -> None:
    """Raise the error of a batch in which a row has one.

    :raises ConditionFailed: there is such a row.
    """
    if found is not None:
        what = f"where has no result for an entry, as Spark SQL has none: {found.why}"
        raise ConditionFailed(what, "Correct the entry, or where: TRY_CAST gives null, and AND leaves entries out before.")
