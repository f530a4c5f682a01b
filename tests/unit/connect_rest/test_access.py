"""Logins of the server, and requests that a web page of another site has sent."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from ignite_kafka.connect_rest.access import Guard, Logins
from ignite_kafka.errors import SettingsError

TOKEN = "t" * 22
USERS = {"ann": "correct horse", "bob": "battery staple"}
LOCAL = {"host": "localhost:8083"}


def basic(text: str) -> str:
    return f"Basic {base64.b64encode(text.encode()).decode()}"


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        ("", False),
        (basic("ann:correct horse"), True),
        (basic("ann:battery staple"), False),
        (basic("eve:"), False),
        (basic("ann"), False),
        ("Basic not base64!", False),
        ("Basic /w==", False),
        (f"Bearer {TOKEN}", True),
        (f"bearer {TOKEN}", True),
        ("Bearer other", False),
        ("Bearer é", False),
        (f"Digest {TOKEN}", False),
    ],
)
def test_a_request_needs_one_of_the_logins(header: str, accepted: bool) -> None:
    assert Logins(USERS, TOKEN).accept(header) is accepted


def test_without_logins_every_request_is_accepted_and_with_users_alone_no_token_is() -> None:
    assert Logins().accept("")
    assert not Logins(USERS).accept("Bearer ")
    assert not Logins({}, TOKEN).accept(basic(":"))


def test_logins_do_not_show_their_secrets() -> None:
    assert "horse" not in repr(Logins(USERS, TOKEN))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (LOCAL, None),
        ({"host": "127.0.0.1"}, None),
        ({"host": "[::1]:8083"}, None),
        ({"host": "evil.example:8083"}, 403),
        ({"host": "localhost.evil.example"}, 403),
        ({"host": "[::1"}, 403),
        ({}, 403),
        ({**LOCAL, "origin": "http://localhost:8083"}, None),
        ({**LOCAL, "origin": "http://evil.example"}, 403),
        ({**LOCAL, "origin": "null"}, 403),
        ({**LOCAL, "origin": "http://["}, 403),
        ({**LOCAL, "sec-fetch-site": "cross-site"}, 403),
        ({**LOCAL, "sec-fetch-site": "same-origin"}, None),
    ],
)
def test_a_server_on_loopback_answers_its_own_host_alone(headers: dict[str, str], status: int | None) -> None:
    refused = Guard(Logins(), "127.0.0.1").refuse(headers)
    assert (None if refused is None else refused.status) == status


def test_a_login_replaces_the_check_of_the_host_and_not_that_of_the_origin() -> None:
    guard = Guard(Logins(USERS), "0.0.0.0")
    login = {"host": "connect.example", "authorization": basic("bob:battery staple")}
    assert guard.refuse(login) is None
    refused = guard.refuse({"host": "connect.example"})
    assert refused is not None
    assert (refused.status, refused.headers["WWW-Authenticate"].partition(" ")[0]) == (401, "Basic")
    forged = guard.refuse({**login, "origin": "https://evil.example"})
    assert forged is not None
    assert forged.status == 403


def private(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def test_logins_are_read_from_private_files(tmp_path: Path) -> None:
    users = private(tmp_path / "users.json", '{"ann": "correct horse"}')
    token = private(tmp_path / "token", f"{TOKEN}\n")
    assert Logins.read(users, token) == Logins({"ann": "correct horse"}, TOKEN)
    users.chmod(0o644)
    with pytest.raises(SettingsError, match="others can read"):
        Logins.read(users)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("secret", "is not JSON"), ("[]", "no passwords by name"), ("{}", "no passwords by name"), ('{"ann": 1}', "no passwords by name"),
        ('{"ann": "short"}', "less than 8 characters"), ('{"a:b": "long enough"}', "has a colon"),
    ],
)  # fmt: skip
def test_a_wrong_file_of_users_is_an_error_without_its_content(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told) as caught:
        Logins.read(private(tmp_path / "users.json", text))
    assert "short" not in str(caught.value)


@pytest.mark.parametrize("token", ["short", "t " * 22, "é" * 22, ""])
def test_a_token_is_long_and_ascii(tmp_path: Path, token: str) -> None:
    with pytest.raises(SettingsError, match="at least 22 ASCII characters"):
        Logins.read(None, private(tmp_path / "token", token))
