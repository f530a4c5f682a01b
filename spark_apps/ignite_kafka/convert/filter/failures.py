"""Failures: rows for which Spark SQL would raise an error, such as a division by zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...common.arrays import Mask
from ...errors import ConditionFailed


@dataclass(frozen=True)
class Failure:
    """Rows for which Spark would raise an error, as a mask, with the reasons."""

    rows: Mask
    reasons: tuple[tuple[Mask, str], ...]

    def why(self, row: int) -> str:
        """Return the first reason why a row failed."""
        return next(why for rows, why in self.reasons if rows[row])

    @property
    def first(self) -> str:
        """Reason of the first row that failed."""
        return self.why(int(np.argmax(self.rows)))


def failure(rows: Mask, why: str) -> Failure | None:
    """Return a failure for the rows in a mask, with one reason; None if no row failed."""
    return Failure(rows, ((rows, why),)) if rows.any() else None


def within(failed: Failure | None, evaluated: Mask | pa.BooleanArray) -> Failure | None:
    """Restrict an operand's failures to the rows in which Spark evaluates the operand; None if none is left.

    :param evaluated: N flags without nulls.
    """
    if failed is None:
        return None
    mask: Mask = np.asarray(evaluated)
    rows = failed.rows & mask
    return Failure(rows, tuple((flags & mask, why) for flags, why in failed.reasons)) if rows.any() else None


def either(*failures: Failure | None) -> Failure | None:
    """Combine the failures of several operands; None if none of them failed."""
    present = [failed for failed in failures if failed is not None]
    if not present:
        return None
    return Failure(
        np.logical_or.reduce([failed.rows for failed in present]),
        tuple(reason for failed in present for reason in failed.reasons),
    )


def without(values: pa.Array, failed: Failure | None) -> pa.Array:
    """Replace the values of failed rows by null."""
    return values if failed is None else pc.if_else(pa.array(failed.rows), pa.scalar(None, values.type), values)


def condition_failed(why: str, cache: str) -> ConditionFailed:
    """Return the error for an entry on which the condition fails, as in Spark."""
    what = f"where fails for an entry, as it would in Spark SQL: {why}"
    return ConditionFailed(
        what, "Correct the entry, or where: TRY_CAST gives null, and AND can exclude the entry.", cache=cache
    )
