"""Addresses are split, and credentials masked."""

from __future__ import annotations

from dataclasses import fields

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
    assert shown.startswith("IgniteCredentials(username='me', password=***, key_password=***, backlog_secret=***, ca_password=None, ")
    assert repr(IgniteCredentials()).count("=None") == len(fields(IgniteCredentials))
    everything = IgniteCredentials(**{one.name: "hidden" for one in fields(IgniteCredentials)})
    assert repr(everything).count("hidden") == 1
