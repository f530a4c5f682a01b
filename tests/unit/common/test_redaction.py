"""Keys and values in what is logged, raised and sent with dead letters: shown by default, and nowhere once `log_values` is false."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ignite_kafka.cli import main as cli
from ignite_kafka.common import redaction as privacy
from ignite_kafka.convert.json.values import Refused, _integer
from ignite_kafka.convert.rules.failure_stages import Stage
from ignite_kafka.convert.rules.parsed_json import Number
from ignite_kafka.convert.to_ignite import BadRecord
from ignite_kafka.errors import UnsupportedType
from ignite_kafka.ignite.binary.optimized import _local_date
from ignite_kafka.ignite.protocol import ThinError
from ignite_kafka.ignite.types import type_codes as codes
from ignite_kafka.ignite.types.model import QueryEntity, QueryField
from ignite_kafka.ignite.write_refusals import refusal
from ignite_kafka.kafka import producer
from ignite_kafka.kafka.records import Consumed, Records
from ignite_kafka.plan.source_plan import TransferPlan
from ignite_kafka.runtime import connector_run
from ignite_kafka.runtime import spark_job as slot_job
from ignite_kafka.settings.files.load import from_properties
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.sink.dead_letters import error_of, record_headers
from ignite_kafka.sink.program_faults import _fault
from tests.support.bad_entries import long
from tests.support.ignite_bytes import CACHE, Types, binary, decimal, page
from tests.unit.source.test_entry_sender import Writer, send

SECRET = "4711"
CONSUMED = Consumed("t", 0, pa.array([SECRET.encode()]), pa.array([SECRET.encode()]), np.array([5]))


@pytest.fixture(autouse=True)
def _shown_again() -> Iterator[None]:
    yield
    privacy.set_log_values(True)


def entry_of_a_cache(policy: str) -> str:
    """What is told of an entry whose value and key hold the secret."""
    types = Types()
    kind = types.add("Price", {"d": codes.DECIMAL})
    fields = (QueryField("d", "java.math.BigDecimal", scale=2),)
    cache = replace(CACHE, query_entities=(QueryEntity("java.lang.Long", "Price", fields=fields),))
    entries = page([(long(int(SECRET)), binary(kind, {"d": decimal(Decimal(f"0.{SECRET}"))}))], 3)
    writer = Writer()
    try:
        send(writer, policy, entries, cache=cache, types=types)
    except UnsupportedType as error:
        return str(error)
    return str([letter.headers for letter in writer.dead_letters])


def record_of_a_topic() -> str:
    try:
        _integer(0, 10, Number(SECRET))
    except Refused as error:
        bad = BadRecord(0, Stage.VALUE, str(error))
        return str(error_of(CONSUMED, bad)) + str(record_headers("c", 1, error_of(CONSUMED, bad)))
    raise AssertionError("it is out of range")


def refused_put() -> str:
    return str(refusal(ThinError(1, f"Value for a column 'X' is too long. Maximum length: 2, value: {SECRET}"), {"cache": "c"}))


def refused_record() -> str:
    records = Records(pa.array([SECRET.encode()]), pa.array([b"v"]))
    return str(producer._refused(10, records, 0, "t"))


def bytes_of_no_date() -> str:
    with pytest.raises(ValueError) as caught:
        _local_date(memoryview(b"\x67\x12\x00\x00\x0d\x01"))  # 4711-13-01
    return str(caught.value)


TOLD = {
    "an error of an entry": lambda: entry_of_a_cache("STOP_TASK"),
    "an entry's dead letter": lambda: entry_of_a_cache("DEAD_LETTER"),
    "a bad record, and its dead letter": record_of_a_topic,
    "a node's refusal": refused_put,
    "a record that librdkafka refuses": refused_record,
    "bytes that do not decode": bytes_of_no_date,
    "a fault of the program": lambda: str(_fault(CONSUMED, _raised(SECRET))),
    "an error of somebody else": lambda: str(connector_run._wrapped(ValueError(SECRET))),
}


def _raised(text: str) -> Exception:
    try:
        raise KeyError(text)
    except KeyError as error:
        return error


@pytest.mark.parametrize("told", TOLD.values(), ids=TOLD)
def test_values_are_shown_and_can_be_hidden(told: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert SECRET in told()
    caplog.clear()
    privacy.set_log_values(False)
    hidden = told() + caplog.text
    assert SECRET not in hidden
    assert privacy.HIDDEN in hidden


def test_an_event_of_an_entry_that_is_passed_over_hides_it_too(caplog: pytest.LogCaptureFixture) -> None:
    privacy.set_log_values(False)
    with caplog.at_level(logging.INFO):
        entry_of_a_cache("LOG_ONLY")
    (event,) = [record for record in caplog.records if record.__dict__.get("event_id") == 15070]
    assert SECRET not in event.getMessage()
    assert (event.__dict__["event_fields"]["partition"], event.__dict__["event_fields"]["cache"]) == (5, "tested")


def test_each_task_and_each_command_follows_the_setting(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def work(*_: Any) -> Iterator[Any]:
        seen.append(privacy.in_message("x"))
        return iter(())

    for show in (False, True):
        plan = TransferPlan("c", "s", 0, 1, SourceSettings(name="c", log_values=show), ())
        assert list(slot_job.slot_work(work, plan, [[0]], None, None)([0])) == []
    assert seen == [privacy.HIDDEN, "x"]
    (tmp_path / "c.json").write_text('{"name": "c", "log_values": false}')
    assert cli.main(["validate", str(tmp_path / "c.json")]) == 0
    assert privacy.in_message("x") == privacy.HIDDEN


@pytest.mark.parametrize("file", ["name=c\n", "name=c\ntopics=t\n"])
def test_connect_s_name_of_it_is_understood(file: str) -> None:
    for value in ("true", "false"):
        settings = from_properties(f"{file}errors.log.include.messages={value}\n".encode(), "c.properties").settings()
        assert isinstance(settings, SourceSettings | SinkSettings)
        assert settings.log_values is (value == "true")
