"""Failed logins: their answers are delayed, and a client that sends many at a time is refused unread."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from starlette.testclient import TestClient

from ignite_kafka.connect_rest import failed_logins
from ignite_kafka.connect_rest.access import Guard, Logins
from ignite_kafka.connect_rest.application import create_application
from ignite_kafka.connect_rest.failed_logins import MOST_HELD, MOST_OF_CLIENT, FailedLogins, network_of
from tests.unit.connect_rest.simulated_service import simulated_service


def login(text: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(text.encode()).decode()}"}


def test_a_client_has_a_bound_and_all_clients_have() -> None:
    async def run() -> None:
        failed = FailedLogins()
        held = [asyncio.create_task(failed.hold("a")) for _ in range(MOST_OF_CLIENT)]
        await asyncio.sleep(0)
        refused = failed.refuse("a")
        assert refused is not None
        assert (refused.status, refused.headers) == (429, {"Retry-After": "2"})
        assert failed.refuse("b") is None
        held += [asyncio.create_task(failed.hold(f"{number}")) for number in range(MOST_HELD - MOST_OF_CLIENT)]
        await asyncio.sleep(0)
        assert failed.refuse("b") is not None
        for each in held:
            each.cancel()
        await asyncio.gather(*held, return_exceptions=True)
        assert failed.refuse("a") is None
        assert not failed._held, "no address is kept"

    asyncio.run(run())


def test_all_addresses_of_an_ipv6_network_are_one_client() -> None:
    async def run() -> None:
        failed = FailedLogins()
        held = [asyncio.create_task(failed.hold(f"2001:db8:1:2::{number}")) for number in range(MOST_OF_CLIENT)]
        await asyncio.sleep(0)
        assert failed.refuse("2001:db8:1:2:ffff::9%eth0") is not None
        assert failed.refuse("2001:db8:1:3::1") is None
        for each in held:
            each.cancel()
        await asyncio.gather(*held, return_exceptions=True)
        assert not failed._held

    asyncio.run(run())
    assert network_of("::ffff:10.0.0.1") == network_of("10.0.0.1") == "10.0.0.1"
    assert network_of("10.0.0.1") != network_of("10.0.0.2")
    assert network_of("testclient") == "testclient"


@contextmanager
def client(monkeypatch: pytest.MonkeyPatch, delays: list[float]) -> Iterator[TestClient]:
    async def sleep(seconds: float) -> None:
        delays.append(seconds)

    service, _, _ = simulated_service(monkeypatch)
    monkeypatch.setattr(failed_logins, "asyncio", SimpleNamespace(sleep=sleep))
    application = create_application(service, Guard(Logins({"ann": "correct horse"}), "0.0.0.0"))
    with TestClient(application) as made:
        yield made


@pytest.mark.parametrize(
    ("headers", "status", "delayed"),
    [(login("ann:correct horse"), 200, False), (login("ann:wrong horse"), 401, True), ({"Authorization": "Bearer x"}, 401, True),
     ({}, 401, False), ({**login("ann:wrong horse"), "Origin": "https://evil.example"}, 403, False)],
)  # fmt: skip
def test_only_a_wrong_login_is_delayed(monkeypatch: pytest.MonkeyPatch, headers: dict[str, str], status: int, delayed: bool) -> None:
    delays: list[float] = []
    with client(monkeypatch, delays) as server:
        assert server.get("/connectors", headers=headers).status_code == status
    assert delays == [failed_logins.DELAY_S] * delayed


def test_a_client_beyond_its_bound_is_not_told_whether_its_login_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failed_logins, "MOST_OF_CLIENT", 0)
    with client(monkeypatch, []) as server:
        answers = [server.get("/connectors", headers=login(f"ann:{password}")) for password in ("correct horse", "wrong horse")]
        assert [(answer.status_code, answer.json()["error_code"]) for answer in answers] == [(429, 429)] * 2
        assert server.get("/connectors").status_code == 401, "a request without a login guesses nothing"
