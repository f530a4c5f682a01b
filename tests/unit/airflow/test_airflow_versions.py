"""The marks of tests that need a part of Airflow skip nothing where Airflow has all parts."""

from __future__ import annotations

import pytest

from airflow_provider_ignite_kafka import airflow_api
from tests.support import airflow_versions


@pytest.mark.parametrize("name", airflow_versions.MARKS)
def test_a_mark_skips_only_before_airflow_has_the_part(name: str) -> None:
    [skips] = airflow_versions.MARKS[name].args
    assert not skips or airflow_api.VERSION < (3, 3)


def test_the_parts_are_those_of_the_version() -> None:
    """A mark is by the version alone, so a part of Airflow that is elsewhere now must fail here and not be skipped."""
    from airflow import sdk

    since_3_3 = airflow_api.VERSION >= (3, 3)
    assert (hasattr(sdk, "ResumableJobMixin"), hasattr(sdk, "NEVER_EXPIRE"), airflow_api.calls_on_kill()) == (since_3_3,) * 3
    assert (airflow_api.ResumableJobMixin.__module__ == airflow_api.__name__) is not since_3_3
