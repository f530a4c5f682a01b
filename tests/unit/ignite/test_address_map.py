"""Pairs announced=reachable: which address is connected to."""

from __future__ import annotations

import pytest

from ignite_kafka.datasources.option_tables import TABLES
from ignite_kafka.errors import SettingsError
from ignite_kafka.ignite.address_map import AddressMap
from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint
from ignite_kafka.settings.transport_security import ignite_weaknesses
from tests.support.source_settings import build

MAP = "10.0.0.5:10800=ignite-1.example.com:31080,10.0.0.6=ignite-2.example.com,Node-3=[2001:db8::3]:1,[fd00::04]:10800=ignite-4"


@pytest.mark.parametrize(
    ("announced", "tried"),
    [
        (("10.0.0.5:10800",), ("ignite-1.example.com:31080",)),
        (("10.0.0.5:10801",), ("10.0.0.5:10801",)),
        (("10.0.0.6:10801",), ("ignite-2.example.com:10801",)),
        (("127.0.0.1:10800", "10.0.0.6:10800"), ("ignite-2.example.com:10800",)),
        (("node-3:5",), ("[2001:db8::3]:1",)),
        (("[fd00:0:0::4]:10800",), ("ignite-4:10800",)),
        (("10.0.0.7:10800", "127.0.0.1:10800"), ("10.0.0.7:10800", "127.0.0.1:10800")),
        ((), ()),
    ],
)
def test_the_address_that_is_connected_to(announced: tuple[str, ...], tried: tuple[str, ...]) -> None:
    found = AddressMap.of(MAP.split(","))
    assert found.reachable(announced) == tried
    assert found.knows(announced) == (tried != announced)


def test_without_a_map_addresses_are_as_announced() -> None:
    assert AddressMap.of(()).reachable(["10.0.0.5:10800", "127.0.0.1:10800"]) == ("10.0.0.5:10800", "127.0.0.1:10800")
    assert not AddressMap.of(())


@pytest.mark.parametrize("text", ["a", "=b", "a=", "a=b=c", "a:0=b", "a=b:x", "a b=c", "a=b,a=c", "A=b,a=c", "[::1]:5=a,[0:0::1]:5=b"])
def test_what_is_no_map_is_refused_before_anything_starts(text: str) -> None:
    with pytest.raises(SettingsError, match="ignite_address_map") as raised:
        build(ignite_address_map=text)
    assert "announced=reachable" in str(raised.value)


def test_the_setting_and_the_option_reach_the_endpoint() -> None:
    assert build(ignite_address_map=MAP).ignite_endpoint.address_map == tuple(MAP.split(","))
    tables = [table for table in TABLES if "addresses" in table.options]
    assert tables
    for table in tables:
        assert table.options["address_map"].type.parse(MAP) == tuple(MAP.split(","))


def test_a_mapped_address_of_another_host_must_be_protected() -> None:
    """Else a login for the loopback address would go to the mapped one without TLS."""
    local = IgniteEndpoint(("127.0.0.1:10800",), address_map=("10.0.0.5=127.0.0.1:5",))
    assert not list(ignite_weaknesses(local, IgniteCredentials("ann", "p")))
    remote = IgniteEndpoint(("127.0.0.1:10800",), address_map=("127.0.0.1:10801=elsewhere:10801",))
    assert [weakness.setting for weakness in ignite_weaknesses(remote, IgniteCredentials("ann", "p"))] == ["ignite_tls_enabled"]
