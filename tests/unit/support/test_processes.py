"""What a failed test shows of the output of an app."""

from __future__ import annotations

from tests.support.processes import output_tail

DUMP = """Fatal Python error: Segmentation fault

Current thread 0x00007f57f4084b80 (most recent call first):
  File "/app/kafka/producer.py", line 11 in close
"""
JAVA = "\tat org.apache.spark.api.python.BasePythonRunner(PythonRunner.scala:711)\n"


def test_the_end_of_an_output_has_the_last_progress_only() -> None:
    lines = [
        *(f"line {number}" for number in range(30)),
        "2026-11-26 05:45:33,338 INFO progress a",
        "2026-11-26 05:45:34,338 INFO progress b",
    ]
    assert output_tail("\n".join(lines), "the.log").splitlines() == [*lines[10:30], lines[-1], "see the.log"]


def test_the_stacks_of_a_crash_are_shown_wherever_they_are() -> None:
    """The gate knows a crash by these lines; a test that a crash ends is never called flaky."""
    output = f"org.apache.spark.SparkException: Python worker exited unexpectedly (crashed): {DUMP}{JAVA}" + "later\n" * 100
    shown = output_tail(output)
    assert shown.startswith(DUMP)
    assert JAVA not in shown.split("later")[0]
