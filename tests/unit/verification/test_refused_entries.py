"""The records that a cache refused are found among dead letters, with the headers and timestamps that they had."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ignite_kafka.errors import RecordRefused
from ignite_kafka.kafka.headers import Header, headers_of, pairs
from ignite_kafka.kafka.records import Consumed
from ignite_kafka.sink.dead_letters import record_headers
from ignite_kafka.verification.refused_entries import restore_records


def context(offset: int, *, connector: str = "c", topic: str = "t", stage: str = "TASK_PUT") -> list[Header]:
    """The headers that a sink adds to a dead letter."""
    return record_headers(connector, 3, RecordRefused("too long", topic=topic, partition=offset % 2, offset=offset, stage=stage))


def letters(*headers: list[Header]) -> Consumed:
    """Dead letters with these headers; key k<row>, value v<row>, timestamp 1000 + row."""
    rows = range(len(headers))
    flat = [one for of_row in headers for one in of_row]
    names, values = (pa.array([one[at] for one in flat], kind) for at, kind in ((0, pa.string()), (1, pa.binary())))
    of_rows = headers_of(np.array([len(one) for one in headers]), names, values)
    keys, texts = (pa.array([b"%s%d" % (name, row) for row in rows], pa.binary()) for name in (b"k", b"v"))
    return Consumed("dead", 0, keys, texts, np.arange(len(headers)), np.arange(len(headers)) + 1000, of_rows)


def test_records_have_their_place_key_value_time_and_headers() -> None:
    own: list[Header] = [("trace", b"a"), ("trace", None), ("__connect.errors.topic", b"of another connector")]
    found = {one.partition: one for one in restore_records(letters(context(4), [*own, *context(7)], context(6)), "c", ["t"])}
    assert (found[0].topic, found[0].offsets.tolist(), found[0].keys.to_pylist()) == ("t", [4, 6], [b"k0", b"k2"])
    assert found[1].values.to_pylist() == [b"v1"]
    assert found[1].times_ms is not None
    assert found[1].headers is not None
    assert (found[1].times_ms.tolist(), pairs(found[1].headers)) == ([1001], [own])


def test_other_connectors_topics_and_stages_are_left_out() -> None:
    others = [context(1, connector="d"), context(1, topic="u"), context(1, stage="VALUE_CONVERTER"), []]
    others.append([(name.removeprefix("__connect.errors."), value) for name, value in context(1)])
    assert list(restore_records(letters(*others), "c", ["t"])) == []
    ((found),) = restore_records(letters(*others, context(5)), "c", ["t"])
    assert found.keys.to_pylist() == [b"k5"]


def test_a_letter_of_a_letter_names_the_last_failure() -> None:
    twice = [*context(1, connector="d", topic="u"), *context(8)]
    ((found),) = restore_records(letters(twice), "c", ["t", "u"])
    assert (found.topic, found.offsets.tolist()) == ("t", [8])
    assert list(restore_records(letters(twice), "d", ["t", "u"])) == []


def test_no_letters_give_no_records() -> None:
    assert (
        list(restore_records(Consumed("dead", 0, pa.array([], pa.binary()), pa.array([], pa.binary()), np.zeros(0, np.int64)), "c", ["t"]))
        == []
    )
