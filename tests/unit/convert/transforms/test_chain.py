"""Chains of transforms: predicates split a batch, failures have the alias, rows are kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from ignite_kafka.common import redaction
from ignite_kafka.convert.connect import ConnectSchema, ConnectType
from ignite_kafka.convert.transforms.batch import ConnectBatch, Transformed
from ignite_kafka.convert.transforms.catalog import make_predicate, make_transform
from ignite_kafka.convert.transforms.chain import Step, apply_chain
from tests.support.connect_transforms import Records

TEXTS = Records(None, [None] * 4, ConnectSchema(ConnectType.STRING, True), ["1", "x", None, "300"], topics=["a", "b"])


def rows(made: Transformed) -> list[list[int]]:
    return sorted(batch.rows.tolist() for batch in made.batches)


def test_a_predicate_splits_a_batch() -> None:
    step = Step("drop", make_transform("Filter", {}, sink=True), make_predicate("RecordIsTombstone", {}))
    assert rows(apply_chain(TEXTS.batch(), [step])) == [[0, 1, 3]]


def test_a_negated_predicate_drops_the_others() -> None:
    step = Step("drop", make_transform("Filter", {}, sink=True), make_predicate("RecordIsTombstone", {}), negate=True)
    assert rows(apply_chain(TEXTS.batch(), [step])) == [[2]]


def test_failures_have_their_row_and_alias_and_do_not_go_on() -> None:
    cast = Step("narrow", make_transform("Cast$Value", {"spec": "int8"}, sink=True))
    made = apply_chain(TEXTS.batch(), [cast, Step("hoist", make_transform("HoistField$Value", {"field": "f"}, sink=True))])
    assert [(one.row, one.transform) for one in made.bad] == [(1, "narrow"), (3, "narrow")]
    assert {one.exception for one in made.bad} == {"org.apache.kafka.connect.errors.DataException"}
    assert "Value (300) was out of range" in made.bad[1].reason
    assert rows(made) == [[0], [2]]  # the null keeps its schema


def test_topics_go_from_one_step_to_the_predicate_of_the_next() -> None:
    route = Step("route", make_transform("RegexRouter", {"regex": "a", "replacement": "c"}, sink=True))
    drop = Step("drop", make_transform("Filter", {}, sink=True), make_predicate("TopicNameMatches", {"pattern": "c"}))
    assert rows(apply_chain(TEXTS.batch(), [route, drop])) == [[1, 3]]


def test_a_reason_does_not_show_the_value_of_a_config_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_hidden", set())
    redaction.register_hidden_values(("hunter2.*.*.*.*",))
    topic = "hunter2" + "a" * 200_000
    records = Records(None, [None], ConnectSchema(ConnectType.STRING, True), ["1"], topics=[topic])
    route = make_transform("RegexRouter", {"regex": "hunter2.*.*.*.*b", "replacement": "c"}, sink=True)
    (bad,) = apply_chain(records.batch(), [Step("route", route)]).bad
    assert bad.reason.startswith("expression '(value of a config provider)b' cannot be matched")


@dataclass
class Counter:
    calls: int = 0

    def apply(self, batch: ConnectBatch) -> Transformed:
        self.calls += 1
        return Transformed((batch,))


def test_no_transform_is_called_without_records() -> None:
    counter = Counter()
    empty = Records(None, [], None, [], topics=["a"]).batch()
    no_match = Step("count", counter, make_predicate("HasHeaderKey", {"name": "h"}))
    assert apply_chain(empty, [Step("count", counter)]) == Transformed(())
    assert rows(apply_chain(TEXTS.batch(), [no_match])) == [[0, 1, 2, 3]]
    assert counter.calls == 0


def test_without_steps_a_batch_is_the_same() -> None:
    batch = TEXTS.batch()
    assert apply_chain(batch, []).batches[0] is batch
    assert np.array_equal(batch.rows, np.arange(4))


HEAVY = "(?:(?!.*a{0,500}x).)*"  # a lookahead of hundreds of steps at each character
LONG = "a" * 249


def test_records_of_a_topic_that_a_predicate_cannot_match_fail_alone(few_visits: None) -> None:
    records = Records(None, [None] * 4, ConnectSchema(ConnectType.STRING, True), ["1", "x", None, "300"], topics=["b", LONG])
    step = Step("drop", make_transform("Filter", {}, sink=True), make_predicate("TopicNameMatches", {"pattern": HEAVY}), negate=True)
    made = apply_chain(records.batch(), [step])
    assert [(one.row, one.transform, one.exception) for one in made.bad] == [
        (row, "drop", "org.apache.kafka.connect.errors.ConnectException") for row in (1, 3)
    ]
    assert "takes more than" in made.bad[0].reason
    assert rows(made) == [[0, 2]]


def test_records_of_a_topic_that_a_router_cannot_match_fail_alone(few_visits: None) -> None:
    records = Records(None, [None] * 4, ConnectSchema(ConnectType.STRING, True), ["1", "x", None, "300"], topics=["b", LONG])
    made = apply_chain(records.batch(), [Step("route", make_transform("RegexRouter", {"regex": HEAVY, "replacement": "c"}, sink=True))])
    assert [(one.row, one.transform) for one in made.bad] == [(1, "route"), (3, "route")]
    assert f"cannot be matched with topic {LONG}: matching it takes more than" in made.bad[0].reason
    assert rows(made) == [[0, 2]]
