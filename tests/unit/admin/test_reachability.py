"""What a process sees of servers, packages and clocks."""

from __future__ import annotations

import platform
import socket
import time

import pytest

from ignite_kafka.admin.reachability import PACKAGES, HostView, find_problem, inspect_host, measure_skew_s, merge_hosts, read_clock
from tools.servers import free_ports


def test_a_server_is_reached_by_any_of_its_addresses() -> None:
    (closed,) = free_ports(1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        there = f"127.0.0.1:{server.getsockname()[1]}"
        gone = f"127.0.0.1:{closed}"
        assert find_problem([gone, there]) == ""
        assert find_problem([gone]) == f"{gone}: Connection refused"
        assert find_problem([]) == "it has no address"
        assert "invalid literal" in find_problem(["no-port"])
        assert "label" in find_problem([f"{'x' * 64}.example:1"])
        (seen,) = inspect_host({"first": (there,), "second": (gone,)})
    assert seen.unreachable == {"second": f"{gone}: Connection refused"}
    assert seen.versions["Python"] == platform.python_version()
    assert seen.missing == {}
    assert seen.versions.keys() == {"Python", *PACKAGES}


def test_a_package_that_is_absent_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ignite_kafka.admin.reachability.PACKAGES", ("numpy", "no_such_package"))
    (seen,) = inspect_host({})
    assert seen.missing == {"no_such_package": "No module named 'no_such_package'"}


def test_what_one_process_of_a_host_lacks_the_host_lacks() -> None:
    well, ill = HostView("h", {"Python": "3.11"}, {}, {}), HostView("h", {"Python": "3.11"}, {"polars": "absent"}, {"broker": "refused"})
    for seen in ([well, ill], [ill, well]):
        assert merge_hosts(seen) == {"h": ill}


def test_clocks_are_those_of_the_hosts_that_look() -> None:
    before = time.time()
    ((host, time_s),) = read_clock()
    assert before <= time_s <= time.time()
    assert [seen.host for seen in inspect_host({})] == [host]


@pytest.mark.parametrize(("clock_s", "skew"), [(99.0, -1.0), (100.0, 0.0), (105.0, 0.0), (110.0, 0.0), (112.5, 2.5)])
def test_a_clock_is_wrong_by_what_the_question_does_not_explain(clock_s: float, skew: float) -> None:
    assert measure_skew_s(clock_s, asked_s=100.0, answered_s=110.0) == skew
