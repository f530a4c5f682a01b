"""What a process sees of servers, packages and clocks."""

from __future__ import annotations

import platform
import socket
import time

import pytest

from ignite_kafka.admin.reachability import PACKAGES, Seen, clock, look, merged, problem_of, skew_s
from tools.servers import free_ports


def test_a_server_is_reached_by_any_of_its_addresses() -> None:
    (closed,) = free_ports(1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        there = f"127.0.0.1:{server.getsockname()[1]}"
        gone = f"127.0.0.1:{closed}"
        assert problem_of([gone, there]) == ""
        assert problem_of([gone]) == f"{gone}: Connection refused"
        assert problem_of([]) == "it has no address"
        assert "invalid literal" in problem_of(["no-port"])
        assert "label" in problem_of([f"{'x' * 64}.example:1"])
        (seen,) = look({"first": (there,), "second": (gone,)})
    assert seen.unreachable == {"second": f"{gone}: Connection refused"}
    assert seen.versions["Python"] == platform.python_version()
    assert seen.missing == {}
    assert seen.versions.keys() == {"Python", *PACKAGES}


def test_a_package_that_is_absent_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ignite_kafka.admin.reachability.PACKAGES", ("numpy", "no_such_package"))
    (seen,) = look({})
    assert seen.missing == {"no_such_package": "No module named 'no_such_package'"}


def test_what_one_process_of_a_host_lacks_the_host_lacks() -> None:
    well, ill = Seen("h", {"Python": "3.11"}, {}, {}), Seen("h", {"Python": "3.11"}, {"polars": "absent"}, {"broker": "refused"})
    for seen in ([well, ill], [ill, well]):
        assert merged(seen) == {"h": ill}


def test_clocks_are_those_of_the_hosts_that_look() -> None:
    before = time.time()
    ((host, time_s),) = clock()
    assert before <= time_s <= time.time()
    assert [seen.host for seen in look({})] == [host]


@pytest.mark.parametrize(("clock_s", "skew"), [(99.0, -1.0), (100.0, 0.0), (105.0, 0.0), (110.0, 0.0), (112.5, 2.5)])
def test_a_clock_is_wrong_by_what_the_question_does_not_explain(clock_s: float, skew: float) -> None:
    assert skew_s(clock_s, asked_s=100.0, answered_s=110.0) == skew
