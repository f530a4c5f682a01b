"""Random comparisons: the same examples in every run, other and more ones in ``make explore``, which gives a seed.

A test takes its generator from :func:`generator`, the number of its examples from :func:`examples`, and the seed of a program that it
starts from :func:`seed`. With Hypothesis nothing else is needed: its examples follow the profile that :func:`load_profile` loads.
"""

from __future__ import annotations

import os
import random

import hypothesis
import pytest

SEED = "EXPLORE_SEED"  # environment variable: a number; without it examples are always the same
MORE = "EXPLORE_MORE"  # how many times the examples
_GATE_PERCENT = 40


def exploring() -> bool:
    """Whether this run explores."""
    return SEED in os.environ


def load_profile() -> None:
    """Load Hypothesis's profile; a test that is slow on a busy machine is not wrong."""
    common = hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], database=None)
    hypothesis.settings.register_profile("same", common, derandomize=True, max_examples=examples(100))
    hypothesis.settings.register_profile("explore", common, derandomize=False, print_blob=True, max_examples=examples(100))
    hypothesis.settings.load_profile("explore" if exploring() else "same")


def examples(count: int) -> int:
    """Return a number of examples: a part of ``count`` in the gate, whose examples are the same in each run, or a multiple to explore."""
    return count * int(os.environ.get(MORE, "1")) if exploring() else max(count * _GATE_PERCENT // 100, 1)


def seed(constant: int) -> int:
    """Return ``constant``, or a number that follows from it and the seed of this run where it explores."""
    return random.Random(f"{os.environ[SEED]} {constant}").randrange(1 << 31) if exploring() else constant


def is_used_by(item: pytest.Item) -> bool:
    """Whether the module of a test takes seeds or generators from here."""
    names = vars(getattr(item, "module", object))
    return any(names.get(function.__name__) is function for function in (seed, generator))


def generator(constant: int) -> random.Random:
    """Return a generator that begins at :func:`seed`."""
    return random.Random(seed(constant))
