"""Addresses are split, and credentials masked."""

from __future__ import annotations

import pytest

from ignite_kafka.ignite.endpoint import IgniteCredentials, split_address


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("node", ("node", 10800)),
        ("node:1", ("node", 1)),
        ("10.0.0.1:65535", ("10.0.0.1", 65535)),
        ("[::1]:5", ("::1", 5)),
        ("[::1]", ("::1", 10800)),
        ("fe80::1", ("fe80::1", 10800)),
    ],
)
def test_split_address(address: str, expected: tuple[str, int]) -> None:
    assert split_address(address) == expected


@pytest.mark.parametrize("address", ["", ":1", "node:port", "node:0", "node:65536", "[]:1"])
def test_no_address(address: str) -> None:
    with pytest.raises(ValueError, match="is not host:port"):
        split_address(address)


def test_credentials_do_not_show() -> None:
    shown = repr(IgniteCredentials("me", "secret", "hidden", "unseen"))
    assert shown == "IgniteCredentials(username='me', password=***, key_password=***, backlog_secret=***)"
    assert repr(IgniteCredentials()) == "IgniteCredentials(username=None, password=None, key_password=None, backlog_secret=None)"
