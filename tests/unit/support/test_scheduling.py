"""Tests that share servers run in one process; long groups begin early, and quick tests of real servers before slow ones."""

from __future__ import annotations

import pytest

from tests.support.scheduling import in_order, scope_of


@pytest.mark.parametrize(
    ("test", "scope"),
    [
        ("tests/unit/sql/test_parser.py::test_x[a::b]", "tests/unit/sql/test_parser.py"),
        ("tests/integration/airflow/hooks/test_x.py::test_x", "integration/airflow"),
        ("tests/integration/convert/avro/test_x.py::test_x", "integration/convert"),
        ("tests/integration/test_wheel.py::test_x", "tests/integration/test_wheel.py::test_x"),
        ("tests/faults/test_three_brokers.py::test_x", "tests/faults/test_three_brokers.py"),
        ("tests/faults/test_started_twice.py::test_x", "Spark's standalone cluster"),
        ("tests/faults/test_sink.py::test_x", "tests/faults/test_sink.py::test_x"),
        ("tests/stream/test_x.py::test_x", "stream"),
    ],
)
def test_tests_that_share_servers_are_one_group(test: str, scope: str) -> None:
    assert scope_of(test) == scope


def test_groups_begin_in_the_order_of_their_kind_and_duration() -> None:
    tests = [
        "tests/faults/test_a.py::test_short",
        "tests/faults/test_b.py::test_long",
        *(f"tests/integration/{folder}/test_a.py::test_{number}" for folder in ("sink", "kafka") for number in (1, 2)),
        "tests/unit/test_a.py::test_1",
        "tests/integration/airflow/test_a.py::test_1",
        "tests/faults/test_three_brokers.py::test_1",
    ]
    scopes: dict[str, list[str]] = {}
    for test in tests:
        scopes.setdefault(scope_of(test), []).append(test)
    seconds = {"tests/faults/test_a.py": 5.0, "tests/faults/test_b.py": 50.0, "tests/integration/sink/test_a.py": 60.0}
    assert in_order(scopes, seconds | {"tests/integration/kafka/test_a.py": 4.0}) == [
        "tests/faults/test_three_brokers.py",
        "integration/airflow",
        "tests/unit/test_a.py",
        "integration/kafka",
        "integration/sink",
        "tests/faults/test_b.py::test_long",
        "tests/faults/test_a.py::test_short",
    ]
