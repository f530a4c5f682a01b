"""The Python worker of a local run crashes in a commit: the run ends with one error, and the next one continues."""

from __future__ import annotations

import signal

import pytest

from tests.faults.conftest import Copy, one_error
from tests.support.kafka_proxy import Api
from tests.support.processes import client_of


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        (signal.SIGSEGV, "worker of a Spark task crashed: Segmentation fault [at "),
        pytest.param(signal.SIGKILL, "was killed", marks=pytest.mark.long("SIGSEGV")),
    ],
)
def test_a_worker_that_crashes_ends_the_run(copy: Copy, sent: signal.Signals, text: str) -> None:
    rule = copy.broker.proxy.hold_request(Api.END_TXN, copy.slot_id(1), 2)
    app = copy.start()
    try:
        client_of(app.reaches(rule).connection).send_signal(sent)
        rule.drop()
        result = app.result()
    finally:
        app.stop()
    one_error(result, 1, "TaskFailed", text, "continues after what was committed")
    assert "Py4JJavaError" in result.output  # the whole reason precedes the error
    assert copy.assert_nothing_half() < len(copy.entries)
    copy.run().assert_exit(0)
    copy.assert_complete()
