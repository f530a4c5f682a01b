"""End offsets while a partition's leader changes: librdkafka's admin client goes on asking with an old leader epoch, a new one does not.
The settings of a topic: known, not to be known, or asked for in vain."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest
from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AclOperation, AdminClient, NewTopic, OffsetSpec

from ignite_kafka.errors import KafkaUnavailable, OffsetsLost, TopicError
from ignite_kafka.kafka.clients import ErrorMemory, KafkaClients
from ignite_kafka.kafka.topics import Topics, TopicSpec, TopicState, read_to
from tests.support.fake_time import FakeTime
from tests.support.fake_topics import described, refused


class Admin:
    """Answers every ListOffsets with one error, or with the offset 7."""

    def __init__(self, code: int | None) -> None:
        self._code = code

    def list_offsets(self, wanted: Mapping[TopicPartition, Any], **_: Any) -> dict[TopicPartition, Future[Any]]:
        answers = {}
        for place in wanted:
            answers[place] = future = Future[Any]()
            if self._code is None:
                future.set_result(SimpleNamespace(offset=7))
            else:
                future.set_exception(KafkaException(KafkaError(self._code)))
        return answers

    def create_topics(self, wanted: Iterable[NewTopic], *, validate_only: bool, **_: Any) -> dict[str, Future[None]]:
        assert validate_only
        answer = Future[None]()
        answer.set_result(None)  # it could be created: it does not exist
        return {new.topic: answer for new in wanted}


class Clients(KafkaClients):
    """Makes one admin client after the other, each with the next error."""

    made = 0

    def admin(self) -> tuple[AdminClient, ErrorMemory]:
        code = self.common["codes"][Clients.made]
        Clients.made += 1
        return Admin(code), ErrorMemory()  # type: ignore[return-value]


def topics(*codes: int | None) -> Topics:
    Clients.made = 0
    time = FakeTime()
    return Topics(Clients({"codes": codes}), clock=time, sleep=time.sleep)


@pytest.mark.parametrize("code", [KafkaError.FENCED_LEADER_EPOCH, KafkaError.UNKNOWN_LEADER_EPOCH, KafkaError.NOT_LEADER_FOR_PARTITION])
def test_a_new_client_asks_where_the_leader_moved(code: int) -> None:
    assert topics(code, code, None).ends("t", [0, 1]) == {0: 7, 1: 7}
    assert Clients.made == 3


def test_a_short_request_that_times_out_is_followed_by_longer_ones() -> None:
    assert topics(*[KafkaError._TIMED_OUT] * 4, None).ends("t", [0]) == {0: 7}
    with pytest.raises(KafkaUnavailable):
        topics(*[KafkaError._TIMED_OUT] * 5).ends("t", [0])
    assert Clients.made == 5


def test_other_errors_are_not_asked_again() -> None:
    with pytest.raises(KafkaUnavailable):
        topics(KafkaError._TRANSPORT).ends("t", [0])
    with pytest.raises(OffsetsLost):
        topics(KafkaError.UNKNOWN_TOPIC_OR_PART).ends("t", [0])
    assert Clients.made == 1


def test_what_a_topic_is_set_to() -> None:
    answers = {"a": {"max.message.bytes": "20000", "cleanup.policy": "compact"}, "b": {}}
    assert described(answers).describe(["a", "b"]) == {
        "a": TopicState("a", "id-a", 2, 20_000, "compact"),
        "b": TopicState("b", "id-b", 2, None, None),
    }


@pytest.mark.parametrize("code", [KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED])
def test_what_may_not_be_described_is_not_known(code: int) -> None:
    assert described({"t": refused(code)}).describe(["t"]) == {"t": TopicState("t", "id-t", 2, None, None)}


@pytest.mark.parametrize(
    ("permitted", "may_write"),
    [(None, True), ([], True), ([AclOperation.DESCRIBE, AclOperation.READ], False), ([AclOperation.DESCRIBE, AclOperation.WRITE], True)],
)
def test_the_permission_to_write_is_known_before_a_transaction(permitted: list[AclOperation] | None, may_write: bool) -> None:
    state = described({"t": {}}, permitted=permitted).describe(["t"])["t"]
    assert state.may_write == may_write
    if may_write:
        state.check_writable()
    else:
        with pytest.raises(TopicError, match=r"may not write to the topic \[topic t\]. Grant .* WRITE"):
            state.check_writable()


@pytest.mark.parametrize("code", [KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError.REQUEST_TIMED_OUT])
def test_settings_asked_for_in_vain_are_an_error(code: int) -> None:
    with pytest.raises(KafkaUnavailable, match=r"describing a topic's settings failed.*topic t"):
        described({"t": refused(code)}).describe(["t"])


def test_a_topic_that_does_not_exist_is_left_out() -> None:
    topics = described({"a": {}})
    assert set(topics.describe(["a", "t"])) == {"a"}
    assert topics.counts(["a", "t"]) == {"a": 2}
    assert (topics.exists("a"), topics.exists("t")) == (True, False)


def test_a_topic_that_brokers_do_not_know_yet_is_asked_for_again() -> None:
    late = {"a": 2, "t": 3}
    assert set(described({"a": {}, "t": {}}, late).describe(["a", "t"])) == {"a", "t"}
    assert described({"t": {}}, {"t": 3}).ends("t", [0, 1]) == {0: 7, 1: 7}
    assert described({"t": {}}, {"t": 3}).offsets([("t", 0)], OffsetSpec.earliest()) == {("t", 0): 0}


def test_a_topic_that_brokers_never_know_is_an_error_that_may_pass() -> None:
    topics = described({"t": {}}, {"t": 1_000}, patience_s=0.5)
    for ask in (lambda: topics.describe(["t"]), lambda: topics.ends("t", [0]), lambda: topics.exists("t")):
        with pytest.raises(KafkaUnavailable, match=r"the topic exists, but the brokers do not know it yet \[topic t, waited 1 s\]"):
            ask()


def test_who_may_not_ask_the_controller_waits_some_seconds() -> None:
    forbidden = KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert described({"t": {}}, {"t": 2}, forbidden).exists("t")
    assert not described({}, refusal=forbidden).exists("t")
    with pytest.raises(OffsetsLost):
        described({}, refusal=forbidden).ends("t", [0])


@pytest.mark.parametrize("code", [KafkaError._TIMED_OUT, KafkaError.NOT_CONTROLLER])
def test_a_controller_that_is_away_leaves_it_open(code: int) -> None:
    with pytest.raises(KafkaUnavailable, match="at the controller"):
        described({}, refusal=code).exists("t")


def refused_for(code: int, **where: str) -> TopicError:
    error = TopicError("commit_transaction failed", **where)
    error.__cause__ = refused(code)
    return error


def test_a_call_that_a_broker_refused_for_a_topic() -> None:
    topics, unknown = described({"a": {}, "b": {}}), KafkaError.UNKNOWN_TOPIC_OR_PART
    assert isinstance(topics.unknown_topic(refused_for(unknown), ["a", "b"]), KafkaUnavailable)
    gone = topics.unknown_topic(refused_for(unknown), ["a", "c", "d"])
    assert isinstance(gone, TopicError)
    assert gone.where["topic"] == "c, d"
    forbidden = refused_for(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    assert topics.unknown_topic(forbidden, ["c"]) is forbidden


class Log:
    """A consumer of one topic: it gives what each call scripted, (partition, offset) of a record, or with True of the end that was met."""

    def __init__(self, *calls: list[tuple[int, int, bool]]) -> None:
        self._calls, self.assigned, self.closed = list(calls), list[tuple[int, int]](), False

    def assign(self, places: list[TopicPartition]) -> None:
        self.assigned = sorted((place.partition, place.offset) for place in places)

    def consume(self, _: int, timeout: float) -> list[Any]:
        return [Met(*one) for one in self._calls.pop(0)] if self._calls else []

    def close(self) -> None:
        self.closed = True


class Met:
    def __init__(self, partition: int, offset: int, end: bool) -> None:
        self.place, self._end = (partition, offset), end

    def partition(self) -> int:
        return self.place[0]

    def offset(self) -> int:
        return self.place[1]

    def error(self) -> KafkaError | None:
        return KafkaError(KafkaError._PARTITION_EOF) if self._end else None


def read(log: Log, ends: dict[int, int], starts: dict[int, int] | None = None, patience_s: float = 5.0) -> list[tuple[int, int]]:
    clients: Any = SimpleNamespace(reader=lambda **_: log, patience_s=patience_s)
    return [message.place for message in cast(Iterator[Any], read_to(clients, "t", ends, starts))]


def test_a_topic_is_read_to_the_end_that_was_given() -> None:
    log = Log([(0, 4, False), (1, 0, False)], [(0, 6, False), (0, 7, False), (1, 9, True), (0, 8, True)])
    assert read(log, {0: 7, 1: 3, 2: 0}, {0: 4}) == [(0, 4), (1, 0), (0, 6)]
    assert log.assigned == [(0, 4), (1, 0)], "an empty partition is not asked for"
    assert log.closed


def test_an_end_that_compaction_emptied_is_passed_by_what_came_since() -> None:
    assert read(Log([(0, 1, False), (0, 12, False)]), {0: 5}) == [(0, 1)]


def test_an_end_behind_an_open_transaction_is_waited_for() -> None:
    with pytest.raises(KafkaUnavailable, match="does not reach its end"):
        read(Log([(0, 0, False), (0, 1, True)]), {0: 5}, patience_s=0.0)


class Watched(Future[Any]):
    """An answer that comes only while the client that was asked is there."""

    def __init__(self, client: object, answer: object, meanwhile: Callable[[], None]) -> None:
        super().__init__()
        self._client, self._meanwhile = weakref.ref(client), meanwhile
        self.set_result(answer)

    def result(self, timeout: float | None = None) -> Any:
        self._meanwhile()
        assert self._client() is not None, "the client is gone, and its answer never comes"
        return super().result(timeout)


def test_a_client_lives_until_its_answers_have_come() -> None:
    """Another thread makes a new one meanwhile."""
    shared: list[Topics] = []

    class Replaced:
        def list_offsets(self, wanted: Mapping[TopicPartition, Any], **_: Any) -> dict[TopicPartition, Future[Any]]:
            return {place: Watched(self, SimpleNamespace(offset=7), self.replace) for place in wanted}

        def describe_topics(self, names: TopicCollection, **_: Any) -> dict[str, Future[Any]]:
            return {name: Watched(self, SimpleNamespace(topic_id="id", partitions=[0]), self.replace) for name in names.topic_names}

        @staticmethod
        def replace() -> None:
            shared[0]._renew_client(KafkaUnavailable("another thread's"))

    class Replacing(KafkaClients):
        def admin(self) -> tuple[AdminClient, ErrorMemory]:
            return Replaced(), ErrorMemory()  # type: ignore[return-value]

    shared.append(Topics(Replacing({})))
    assert shared[0].ends("t", [0]) == {0: 7}
    assert shared[0].counts(["t"]) == {"t": 1}


def test_an_answer_without_an_offset_is_no_end() -> None:
    """librdkafka answers so, without an error, while a broker is away. Before, a task took its slot for empty, and sent all again."""

    class Leaderless:
        offsets: ClassVar = [OFFSET_INVALID, OFFSET_INVALID, 7]
        times: ClassVar = list[float]()

        def list_offsets(
            self, wanted: Mapping[TopicPartition, Any], *, request_timeout: float, **_: Any
        ) -> dict[TopicPartition, Future[Any]]:
            offset = self.offsets.pop(0)
            self.times.append(request_timeout)
            return {place: answered(SimpleNamespace(offset=offset)) for place in wanted}

    class Moving(KafkaClients):
        def admin(self) -> tuple[AdminClient, ErrorMemory]:
            return Leaderless(), ErrorMemory()  # type: ignore[return-value]

    time = FakeTime()
    assert Topics(Moving({}), clock=time, sleep=time.sleep).ends("t", [0]) == {0: 7}
    assert Leaderless.times == [3, 6, 12], "a request keeps to a leader that is dead: the first ones are short"
    Leaderless.offsets = [OFFSET_INVALID] * 100_000
    with pytest.raises(KafkaUnavailable, match="reading offsets"):
        Topics(Moving({}), clock=time, sleep=time.sleep).ends("t", [0])


class Creating:
    """An admin client of a cluster that creates topics, but finds some of them there already."""

    def __init__(self, there: set[str]) -> None:
        self._there = there

    def list_topics(self, **_: Any) -> Any:
        return SimpleNamespace(topics={})

    def describe_topics(self, names: TopicCollection, **_: Any) -> dict[str, Future[Any]]:
        return {name: answered(SimpleNamespace(topic_id="id", partitions=[0])) for name in names.topic_names}

    def create_topics(self, wanted: Iterable[NewTopic], **_: Any) -> dict[str, Future[Any]]:
        exists = KafkaException(KafkaError(KafkaError.TOPIC_ALREADY_EXISTS))
        return {new.topic: answered(exists if new.topic in self._there else None) for new in wanted}


def answered(answer: Any) -> Future[Any]:
    future = Future[Any]()
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)
    return future


def test_topics_that_a_run_creates_are_named_by_an_event(caplog: pytest.LogCaptureFixture) -> None:
    class Cluster(KafkaClients):
        def admin(self) -> tuple[AdminClient, ErrorMemory]:
            return Creating({"met"}), ErrorMemory()  # type: ignore[return-value]

    caplog.set_level(logging.INFO)
    specs = [TopicSpec(name, 1) for name in ("old", "new", "met", "newer")]
    assert Topics(Cluster({})).ensure(specs, {"old": 1}) == dict.fromkeys(("old", "new", "met", "newer"), 1)
    (record,) = [record for record in caplog.records if record.__dict__.get("event_id") == 15121]
    assert record.__dict__["event_fields"] == {"topics": "new, newer"}
    assert Topics(Cluster({})).ensure(specs[:1], {"old": 1}) == {"old": 1}
    assert len([record for record in caplog.records if record.__dict__.get("event_id") == 15121]) == 1, "nothing was created"
