"""The error of a Spark job whose task ended without results, on texts of PySpark 4."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ignite_kafka.common import redaction
from ignite_kafka.errors import CallsStuck, LocalDiskFull
from ignite_kafka.runtime.task_failure import local_folder, task_failed

LOST = (
    "An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.\n"
    ": org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 1.0 failed 1 times, most recent failure: "
)
OF_WORKER = LOST + "Lost task 1.0 in stage 1.0 (TID 3) (192.0.2.2 executor driver): org.apache.spark.SparkException: "
JAVA = "\n\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator$$anonfun$1.applyOrElse(PythonRunner.scala:711)\n"
CRASHED = "Python worker exited unexpectedly (crashed): "
DUMP = """Fatal Python error: Segmentation fault

Thread 0x00007f57f4084b81 (most recent call first):
  File "/app/other.py", line 5 in waits

Current thread 0x00007f57f4084b80 (most recent call first):
  File "/app/kafka/producer.py", line 11 in close
  File "/spark/worker.py", line 3612 in process
"""
RAISED = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/app/first.py", line 1, in first
KeyError: 'first'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/app/second.py", line 7, in second
    raise ValueError("bad thing")
          ^^^^^^^^^^^^^^^^^^^^^^^
ValueError: bad thing
second line
"""


def test_a_crash_names_the_signal_and_the_place() -> None:
    error = task_failed(OF_WORKER + CRASHED + DUMP + JAVA, "/spark")
    assert error.what == "the Python worker of a Spark task crashed: Segmentation fault"
    assert error.where == {"at": "/app/kafka/producer.py line 11 in close"}
    assert not error.final


def test_a_worker_that_stood_names_the_place_of_its_main_thread() -> None:
    dump = """Timeout (0:17:00)!
Thread 0x00007f57f4084b81 (most recent call first):
  File "/app/other.py", line 5 in waits

Thread 0x00007f57f4084b80 (most recent call first):
  File "/app/kafka/consumer.py", line 11 in _fetch
  File "/spark/worker.py", line 3612 in process
"""
    error = task_failed(OF_WORKER + CRASHED + dump + JAVA, "/spark")
    assert error.what == "the Python worker of a Spark task gave no sign of life for 0:17:00 hours, and was ended"
    assert error.where == {"at": "/app/kafka/consumer.py line 11 in _fetch"}
    assert not error.final


def test_a_worker_that_was_killed_has_no_dump() -> None:
    error = task_failed(OF_WORKER + CRASHED + "\n" + JAVA, "/spark")
    assert error.what == "the Python worker of a Spark task was killed"
    assert "spark.executor.memoryOverhead" in error.remedy


def test_an_exception_is_that_of_the_last_traceback() -> None:
    assert task_failed(RAISED, "/spark").what == "a Spark task failed: ValueError: bad thing"


def test_a_worker_whose_calls_did_not_return_in_any_attempt() -> None:
    raised = CallsStuck("16 calls of librdkafka in this process have not returned", "Run again.", host="b.example.com")
    text = f'Traceback (most recent call last):\n  File "/app/first.py", line 1, in first\n{CallsStuck.__module__}.CallsStuck: {raised}\n'
    error = task_failed(OF_WORKER + text + JAVA, "/spark")
    assert error.what.endswith("was ended: 16 calls of librdkafka in this process have not returned [host b.example.com]")
    assert error.remedy == "Check the network between the executors and the brokers. The next run continues after what was committed."
    assert not error.final


def test_a_message_may_hold_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_show", False)
    error = task_failed(RAISED, "/spark")
    assert error.what.startswith("a Spark task failed: ValueError: ")
    assert "bad thing" not in error.what


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (LOST + "ExecutorLostFailure (executor 1 exited) Reason: Container marked as failed\nDriver stacktrace:", "ExecutorLostFailure"),
        ("Job 3 cancelled because SparkContext was shut down\n\tat org.apache", "Job 3 cancelled because SparkContext was shut down"),
    ],
)
def test_other_failures_have_one_line_of_spark(text: str, what: str) -> None:
    error = task_failed(text, "/spark")
    assert what in error.what
    assert "\n" not in error.what


def test_a_full_disk_of_a_host_is_its_own_error() -> None:
    for text in (OF_WORKER + CRASHED + "\n" + JAVA, RAISED, LOST):
        found = task_failed(text + "\njava.io.IOException: No space left on device", "/spark")
        assert isinstance(found, LocalDiskFull)
        assert found.where["path"] == "/spark"


def test_the_remedy_of_a_crash_is_that_of_the_command() -> None:
    for dump in (DUMP, "\n"):
        remedy = task_failed(OF_WORKER + CRASHED + dump + JAVA, "/spark", "Compare again.").remedy
        assert remedy.endswith("Compare again.")
        assert "next run" not in remedy


@pytest.mark.parametrize(("variable", "setting", "folder"), [(None, None, "/tmp"), (None, "/a,/b", "/a"), ("/c,/d", "/a", "/c")])
def test_the_local_folder_is_the_one_that_spark_takes(
    variable: str | None, setting: str | None, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    if variable:
        monkeypatch.setenv("SPARK_LOCAL_DIRS", variable)
    settings = {} if setting is None else {"spark.local.dir": setting}
    context: Any = SimpleNamespace(getConf=lambda: settings)
    assert local_folder(context) == folder
