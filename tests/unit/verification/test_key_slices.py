"""Slices part the keys alike on both sides."""

from __future__ import annotations

import numpy as np
import pytest

from ignite_kafka.verification.key_slices import ALL, SLICES, count_slices, select_slices, slices_of
from tests.unit.verification.test_fingerprints import rows


def test_a_slice_has_the_same_keys_on_both_sides() -> None:
    many = rows([(b"%d" % number, b"x") for number in range(20_000)])
    changed = rows([(b"%d" % number, b"y") for number in range(20_000)])
    chosen = select_slices(many, ((500, 1_000),))
    assert 0.04 < chosen.mean() < 0.06
    assert (chosen == select_slices(changed, ((500, 1_000),))).all()
    assert select_slices(many, ALL).all()


def test_slices_part_all_keys() -> None:
    many = rows([(b"%d" % number, b"x") for number in range(20_000)])
    parts = [((0, 1),), ((1, 3_000), (9_000, SLICES)), ((3_000, 9_000),)]
    assert sum(count_slices(part) for part in parts) == SLICES
    assert np.sum([select_slices(many, part) for part in parts], axis=0).tolist() == [1] * len(many)


@pytest.mark.parametrize(("percent", "count"), [(100, SLICES), (5, 500), (0.01, 1), (1e-9, 1)])
def test_a_share_has_at_least_one_slice(percent: float, count: int) -> None:
    assert slices_of(percent) == count
