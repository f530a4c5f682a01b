"""What the check of a Kafka connection says, and how long it waits. The admin client is a fake: no broker is needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from ignite_kafka.errors import AuthenticationFailed, KafkaUnavailable
from ignite_kafka.kafka import clients as module
from ignite_kafka.kafka.clients import KafkaClients, translate

LOGIN, TLS = KafkaError._AUTHENTICATION, KafkaError._SSL


class Admin:
    """An admin client whose requests get no answer, or one after some; errors in the background come before each of them ends."""

    def __init__(self, seen: Sequence[Sequence[int]], answered: int | None) -> None:
        self.waited: list[float] = []
        self._seen, self._answered = seen, answered

    def with_config(self, config: dict[str, Any]) -> Admin:
        self._report = config["error_cb"]
        return self

    def list_topics(self, timeout: float) -> None:
        self.waited.append(timeout)
        if len(self.waited) - 1 != self._answered:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT, "no metadata"))

    def poll(self, _: float) -> None:
        for code in self._seen[len(self.waited) - 1]:
            self._report(KafkaError(code, f"reason {code}"))


def check(monkeypatch: pytest.MonkeyPatch, *seen: Sequence[int], answered: int | None = None, timeout_s: float = 10.0) -> list[float]:
    """Timeouts of the requests; raises what the check raises."""
    admin = Admin(seen, answered)
    monkeypatch.setattr(module, "make_client", lambda _, config: admin.with_config(config))
    try:
        KafkaClients({"bootstrap.servers": "kafka:9093"}).check(timeout_s)
    except (AuthenticationFailed, KafkaUnavailable) as error:
        error.__notes__ = [str(admin.waited)]  # Python 3.10 has no add_note
        raise
    return admin.waited


@pytest.mark.parametrize(("code", "remedy"), [(LOGIN, "Check user, password"), (TLS, "Check that ssl.ca.location or ssl.ca.pem")])
def test_a_login_that_is_refused_again_is_an_error_at_once(code: int, remedy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AuthenticationFailed, match=remedy) as caught:
        check(monkeypatch, [code, KafkaError._ALL_BROKERS_DOWN, code])
    assert caught.value.__notes__ == ["[1.0]"]
    assert str(caught.value).count(f"reason {code}") == 1
    assert caught.value.where == {"bootstrap_servers": "kafka:9093"}


@pytest.mark.parametrize(("number", "refused"), [(42, True), (116, True), (48, True), (40, False), (70, False), (1160, False)])
def test_an_alert_after_the_handshake_is_a_refusal(number: int, refused: bool) -> None:
    """Of a broker that requires a certificate of the client. 40 and 70 are of a handshake without a common protocol."""
    text = f"ssl://kafka:9093/bootstrap: Receive failed: error:0A00045C:SSL routines::tlsv13 alert: SSL alert number {number} (after 0ms)"
    error = translate(KafkaError(KafkaError._TRANSPORT, text), "connecting to Kafka")
    assert isinstance(error, AuthenticationFailed if refused else KafkaUnavailable)
    assert ("accepts the client's certificate" in str(error)) is refused


def test_one_refusal_may_be_a_broker_that_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(monkeypatch, [TLS], answered=1) == [1.0, 9.0]
    with pytest.raises(AuthenticationFailed) as caught:
        check(monkeypatch, [TLS], [TLS])
    assert caught.value.__notes__ == ["[1.0, 9.0]"]


@pytest.mark.parametrize(("timeout_s", "waited"), [(10.0, "[1.0, 9.0]"), (0.5, "[0.5, 0.0]")])
def test_a_broker_that_does_not_answer_is_waited_for(timeout_s: float, waited: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KafkaUnavailable, match=rf"seen reason {KafkaError._ALL_BROKERS_DOWN}") as caught:
        check(monkeypatch, [KafkaError._ALL_BROKERS_DOWN], [], timeout_s=timeout_s)
    assert caught.value.__notes__ == [waited]
