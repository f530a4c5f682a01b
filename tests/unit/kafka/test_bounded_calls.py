"""Calls of librdkafka that do not return: each ends with an error after its timeout."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from ignite_kafka.errors import CallsStuck, KafkaUnavailable
from ignite_kafka.kafka import bounded_calls
from ignite_kafka.kafka.bounded_calls import CallStuck, answer_of, bounded, close_consumer
from ignite_kafka.kafka.clients import KafkaClients
from ignite_kafka.kafka.producer import ProducerFenced, TransactionalProducer

SHORT_S = 0.2


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_calls, "GRACE_S", SHORT_S)


@pytest.fixture
def never() -> Iterator[threading.Event]:
    """What a stuck call waits for; it is set at the end, so that no thread stays."""
    event = threading.Event()
    yield event
    event.set()


def test_results_and_exceptions_are_those_of_the_call() -> None:
    assert bounded(lambda: threading.current_thread() is threading.main_thread(), 60) is False
    with pytest.raises(KafkaException):
        bounded(lambda: (_ for _ in ()).throw(KafkaException(KafkaError(KafkaError._TIMED_OUT))), 60)


def test_a_call_that_does_not_return_is_left_behind(never: threading.Event) -> None:
    with pytest.raises(CallStuck, match="no return within"):
        bounded(never.wait, 0.0)


def test_a_process_leaves_a_limited_number_of_calls_behind(never: threading.Event) -> None:
    for _ in range(bounded_calls.MOST_STUCK):
        with pytest.raises(CallStuck):
            bounded(never.wait, -SHORT_S)
    with pytest.raises(CallsStuck, match="16 calls of librdkafka in this process have not returned"):
        bounded(lambda: 1, 0.0)
    never.set()
    for thread in list(bounded_calls._left_behind):
        thread.join()
    assert bounded(lambda: 1, 60.0) == 1, "they have returned"


def test_an_interrupt_waits_for_the_call(never: threading.Event) -> None:
    """Ctrl-C amid a commit: what the call does is done before anybody acts on the interrupt."""
    done = threading.Event()

    def call() -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        never.wait(SHORT_S)
        done.set()

    with pytest.raises(KeyboardInterrupt):
        bounded(call, 60)
    assert done.is_set()


class Admin:
    """An admin client whose requests for metadata answer another request, fail, or do not return."""

    def __init__(self, lists: Callable[[], Any]) -> None:
        self.lists, self.asked = lists, 0

    def list_topics(self, timeout: float) -> Any:
        self.asked += 1
        return self.lists()


def unknown() -> None:
    raise KafkaException(KafkaError(KafkaError._TIMED_OUT))


def test_a_request_without_an_answer_is_an_error_that_names_it(never: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_calls, "_REFRESH_S", 0.01)
    for lists in (unknown, never.wait, lambda: None):
        admin = Admin(lists)
        with pytest.raises(KafkaUnavailable, match=r"reading offsets: no answer within .*topic t"):
            answer_of(Future(), admin, 0.0, "reading offsets", topic="t")  # type: ignore[arg-type]
        assert admin.asked


def test_metadata_are_read_anew_until_the_answer_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker that was asked may be dead: only other metadata make librdkafka ask another one."""
    monkeypatch.setattr(bounded_calls, "_REFRESH_S", 0.01)
    answer: Future[int] = Future()
    assert answer_of(answer, Admin(lambda: answer.set_result(7)), 60, "reading offsets") == 7  # type: ignore[arg-type]
    failed: Future[int] = Future()
    refused = KafkaException(KafkaError(KafkaError.INVALID_PARTITIONS))
    with pytest.raises(KafkaException) as raised:
        answer_of(failed, Admin(lambda: failed.set_exception(refused)), 60, "reading offsets")  # type: ignore[arg-type]
    assert raised.value is refused


def test_a_consumer_that_does_not_close_is_left_open(
    never: threading.Event, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Consumer:
        close = staticmethod(never.wait)

    monkeypatch.setattr(bounded_calls, "_CLOSE_S", 0.0)
    close_consumer(Consumer())  # type: ignore[arg-type]
    assert "a consumer was left open: no return within" in caplog.text


class Stuck:
    """A producer with one method that does not return."""

    def __init__(self, method: str, never: threading.Event) -> None:
        self.method, self.never, self.calls = method, never, list[str]()

    def __call__(self, config: dict[str, Any]) -> Producer:
        return self  # type: ignore[return-value]

    def __len__(self) -> int:
        return 0

    def __getattr__(self, name: str) -> Any:
        def call(*_: Any, **__: Any) -> None:
            self.calls.append(name)
            if name == self.method:
                self.never.wait()

        return call


@pytest.mark.parametrize(
    "method", ["init_transactions", "begin_transaction", "send_offsets_to_transaction", "commit_transaction", "abort_transaction"]
)
def test_a_stuck_producer_is_given_up(method: str, never: threading.Event) -> None:
    client = Stuck(method, never)
    producer = TransactionalProducer(KafkaClients({"bootstrap.servers": "127.0.0.1:1"}, patience_s=SHORT_S), "c-0", 60_000, client=client)
    steps = {
        "init_transactions": producer.init,
        "begin_transaction": producer.begin,
        "send_offsets_to_transaction": lambda: producer.send_offsets([], None),
        "commit_transaction": producer.commit,
        "abort_transaction": lambda: producer.abort(SHORT_S),
    }
    for name, step in steps.items():
        if name == method:
            break
        step()
    with pytest.raises(KafkaUnavailable, match=f"{method}: no return within .*transactional id c-0"):
        steps[method]()
    assert producer.outcome_unknown == (method == "commit_transaction")
    calls = list(client.calls)
    with pytest.raises(KafkaUnavailable, match="abort_transaction is not called: an earlier call did not return"):
        producer.abort(60)
    producer.abort_open(60)
    assert client.calls == calls, "librdkafka is asked nothing more"
    producer.close()


def test_an_error_of_a_call_is_no_stuck_one(never: threading.Event) -> None:
    class Fenced(Stuck):
        def commit_transaction(self, timeout_s: float) -> None:
            raise KafkaException(KafkaError(KafkaError._FENCED))

    producer = TransactionalProducer(KafkaClients({"bootstrap.servers": "127.0.0.1:1"}), "c-0", 60_000, client=Fenced("", never))
    producer.init()
    producer.begin()
    with pytest.raises(ProducerFenced):
        producer.commit()
    producer.abort(60)
