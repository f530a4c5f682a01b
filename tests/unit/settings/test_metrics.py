"""Who may open the driver's metrics to other hosts."""

from __future__ import annotations

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.metrics import check_metrics_host, is_loopback
from ignite_kafka.settings.source import SourceSettings


@pytest.mark.parametrize(
    ("host", "alone"),
    [
        ("127.0.0.1", True), ("127.1.2.3", True), ("::1", True), ("localhost", True), ("LOCALHOST", True),
        ("0.0.0.0", False), ("::", False), ("10.0.0.5", False), ("driver.corp", False), ("localhost.evil.example", False),
        ("127.0.0.1.evil.example", False), ("::ffff:0.0.0.0", False), ("2130706433", False),
    ],
)  # fmt: skip
def test_loopback_addresses_are_recognized(host: str, alone: bool) -> None:
    assert is_loopback(host) is alone


def test_settings_alone_choose_loopback_only() -> None:
    check_metrics_host("127.0.0.1", None, "--metrics-host", None)
    check_metrics_host("localhost", "0.0.0.0", "--metrics-host", None)
    check_metrics_host("0.0.0.0", "0.0.0.0", "--metrics-host", "the command line")
    for chosen in (None, "127.0.0.1", "10.0.0.5"):
        with pytest.raises(SettingsError, match=r"settings alone cannot.*set in c\.json.*Give --metrics-host") as caught:
            check_metrics_host("0.0.0.0", chosen, "--metrics-host", "c.json")
        assert caught.value.where["setting"] == "metrics_host"


def test_the_endpoint_is_off_and_on_loopback_by_default() -> None:
    settings = SourceSettings(name="c")
    assert (settings.metrics_port, settings.metrics_host) == (None, "127.0.0.1")


@pytest.mark.parametrize("port", [-1, 65_536, "http", True, 1.5])
def test_wrong_ports_are_refused(port: object) -> None:
    with pytest.raises(SettingsError, match="metrics_port"):
        SourceSettings.from_dict({"name": "c", "metrics_port": port})


@pytest.mark.parametrize("host", ["", "a b", "a/b", "a\nb", "http://a", "é"])
def test_wrong_hosts_are_refused(host: str) -> None:
    with pytest.raises(SettingsError, match="metrics_host"):
        SourceSettings.from_dict({"name": "c", "metrics_host": host})
