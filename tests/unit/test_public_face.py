"""The public face of the library: names, examples, and what importing it loads."""

from __future__ import annotations

import doctest

import pytest

import ignite_kafka
from tests.unit.test_imports import loaded


@pytest.mark.parametrize("name", ignite_kafka.__all__)
def test_each_public_name_is_found_and_documented(name: str) -> None:
    assert getattr(ignite_kafka, name).__doc__
    assert name in dir(ignite_kafka)


def test_a_name_that_is_not_public_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'run_conector'"):
        ignite_kafka.run_conector  # noqa: B018


def test_importing_it_loads_the_standard_library_alone() -> None:
    assert not {"pyspark", "pyarrow", "polars", "numpy", "confluent_kafka"} & loaded("import ignite_kafka; ignite_kafka.SourceSettings")


def test_its_examples_run() -> None:
    assert doctest.testmod(ignite_kafka).attempted >= 2
    assert not doctest.testmod(ignite_kafka).failed
