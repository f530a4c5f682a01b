"""Chain of transforms: each is applied to the records that its predicate selects.

Source: TransformationChain and TransformationStage (4.3.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...common.redaction import mask_hidden_values
from .batch import BadRow, ConnectBatch, Predicate, Transform, Transformed
from .json_objects import joined_sides
from .sides import by_topic, selected
from .thrown import Thrown


@dataclass(frozen=True)
class Step:
    """A transform of a chain, with the predicate that selects its records.

    :param alias: name of the transform in setting `transforms`.
    :param predicate: predicate that selects the records to transform; None: all records.
    :param negate: whether to transform only the records that do not satisfy the predicate.
    """

    alias: str
    transform: Transform
    predicate: Predicate | None = None
    negate: bool = False


def apply_chain(batch: ConnectBatch, steps: Sequence[Step]) -> Transformed:
    """Apply the transforms of a chain, one after the other, to the records of a batch.

    :returns: batches in no order, each with ascending rows; records with equal schemas may be in several batches.
    """
    batches: tuple[ConnectBatch, ...] = (batch,) if len(batch) else ()
    bad: list[BadRow] = []
    for step in steps:
        results = [_apply_step(part, step) for part in batches]
        batches = tuple(part for transformed in results for part in transformed.batches if len(part))
        bad += [
            replace(bad_row, transform=step.alias, reason=mask_hidden_values(bad_row.reason))
            for transformed in results
            for bad_row in transformed.bad
        ]
    return Transformed(tuple(map(joined_sides, batches)), tuple(sorted(bad, key=lambda bad_row: bad_row.row)))


def _apply_step(batch: ConnectBatch, step: Step) -> Transformed:
    if step.predicate is None:
        return step.transform.apply(batch)
    try:
        mask = step.predicate.test(batch) ^ np.bool_(step.negate)
    except Thrown as error:
        return _of_topics(batch, step, error)
    if not mask.any():
        return Transformed((batch,))
    if mask.all():
        return step.transform.apply(batch)
    result = step.transform.apply(selected(batch, mask))
    return Transformed((selected(batch, ~mask), *result.batches), result.bad)


def _of_topics(batch: ConnectBatch, step: Step, error: Thrown) -> Transformed:
    """Apply a step topic by topic after its predicate failed, so that records of other topics pass."""
    parts = by_topic(batch)
    if len(parts) == 1:
        return Transformed((), tuple(BadRow(row, error.exception, error.reason) for row in batch.rows.tolist()))
    results = [_apply_step(part, step) for _, part in parts]
    return Transformed(
        tuple(out for result in results for out in result.batches),
        tuple(row for result in results for row in result.bad),
    )
