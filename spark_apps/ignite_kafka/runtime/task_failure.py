"""Errors for failed Spark jobs, from Spark's text: a Python worker crashed, was killed, or raised an error."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from pyspark import SparkContext

from ..common.local_disk import disk_error_in
from ..common.redaction import in_message
from ..errors import CallsStuck, LocalDiskFull, TaskFailed

_CRASHED = "Python worker exited unexpectedly"
_DUMP = re.compile(r"Fatal Python error: (?P<signal>.+)")
_STOOD = re.compile(r"Timeout \((?P<time>[0-9:.]+)\)!")  # of common/heartbeat.py
_PLACE = r'\n +File "(?P<file>[^"]*)", line (?P<line>\d+) in (?P<function>.*)'
_CRASHED_AT = re.compile("Current thread .*" + _PLACE)  # the main thread is the last one
_STOOD_AT = re.compile("Thread .*" + _PLACE)
_TRACEBACK = "Traceback (most recent call last):\n"
_RAISED = re.compile(r"^\S.*$", re.MULTILINE)
_LAST_FAILURE = re.compile(r"most recent failure: (.+)")
_LONGEST = 500
_CONTINUES = "The next run continues after what was committed."


def task_failed(text: str, folder: str, again: str = _CONTINUES) -> TaskFailed | LocalDiskFull:
    """Make an error with cause and remedy from the text of a failed Spark job.

    :param text: text of PySpark's exception: Spark's message with the dump of a crashed worker (``faulthandler``), or
        the worker's traceback.
    :param folder: Spark's local folder (:func:`local_folder`).
    :param again: sentence on what a repetition does after a worker has crashed.
    """
    if full := disk_error_in(text, folder):
        return full
    if _CRASHED in text:
        return _crashed(text, again)
    if _TRACEBACK in text:
        raised = _RAISED.search(text.rsplit(_TRACEBACK, 1)[1])
        kind, _, message = raised[0].partition(": ") if raised else ("without a reason", "", "")
        if kind.rpartition(".")[2] == CallsStuck.__name__:  # in each of Spark's attempts
            return TaskFailed(
                f"the Python worker of a Spark task was ended: {message.partition('. ')[0]}",
                f"Check the network between the executors and the brokers. {again}",
            )
        reason = f"{kind}: {in_message(message[:_LONGEST])}" if message else kind
        return TaskFailed(f"a Spark task failed: {reason}", "Please report it with the traceback in the driver's log.")
    failure = _LAST_FAILURE.search(text)
    reason = failure[1] if failure else text.strip().partition("\n")[0]
    return TaskFailed(f"the Spark job failed: {reason[:_LONGEST]}", "See the driver's log and those of the executors.")


def local_folder(context: SparkContext) -> str:
    """Return the driver's first folder for Spark's local files, to recognize a full disk."""
    folders = os.environ.get("SPARK_LOCAL_DIRS") or context.getConf().get("spark.local.dir", "/tmp")  # Spark's default
    return str(folders).partition(",")[0]


def _crashed(text: str, again: str) -> TaskFailed:
    dump = _DUMP.search(text)
    stood = _STOOD.search(text)
    if stood is not None:
        return TaskFailed(
            f"the Python worker of a Spark task gave no sign of life for {stood['time']} hours, and was ended",
            f"Please report it with the stacks in the driver's log. {again}",
            at=_place([*_STOOD_AT.finditer(text)]),
        )
    if dump is None:
        return TaskFailed(
            "the Python worker of a Spark task was killed",
            f"If the kernel's log shows that memory ran out, give executors more (spark.executor.memoryOverhead), "
            f"or fewer cores. {again}",
        )
    return TaskFailed(
        f"the Python worker of a Spark task crashed: {dump['signal']}",
        f"Please report it with the stack in the driver's log. {again}",
        at=_place([*_CRASHED_AT.finditer(text)]),
    )


def _place(frames: Sequence[re.Match[str]]) -> str | None:
    """Return file, line and function of the innermost call in the last matching thread of a stack dump."""
    return f"{frames[-1]['file']} line {frames[-1]['line']} in {frames[-1]['function']}" if frames else None
