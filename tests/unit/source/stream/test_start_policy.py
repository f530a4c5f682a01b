"""How a stream starts: every case of failover policy, capture, and snapshot before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ignite_kafka.errors import OffsetsLost
from ignite_kafka.source.stream.start_policy import StartDecision, StartState, loads_after_change, start_policy
from ignite_kafka.state.configs import SnapshotRecord

CACHES = [{"name": "a", "load": True}, {"name": "b", "load": False}]
LOADS = {"a": True, "b": False}
COMPLETE = SnapshotRecord("old", {"capture_id": 7, "caches": CACHES}, complete=True)
UNFINISHED = replace(COMPLETE, complete=False)
SNAPSHOT_ALONE = SnapshotRecord("old", {"capture_id": 0, "caches": CACHES}, complete=True)
OF_0_1_0 = SnapshotRecord("old", {"caches": CACHES}, complete=True)

FIRST = StartState(None, None, None, 1)
LASTED = StartState(COMPLETE, None, 7, 7)
CUT = StartState(UNFINISHED, None, 7, 7)
LOST = StartState(COMPLETE, None, None, 8)
ENDED = StartState(COMPLETE, None, 7, 8)  # policy NONE ends the capture before it starts another


@pytest.mark.parametrize(
    "plan",
    [
        {"capture_id": 7, "caches": 1},
        {"capture_id": 7, "caches": [1]},
        {"capture_id": 7, "caches": [{"name": "a"}]},
        {"capture_id": 7, "caches": [{"name": ["a"], "load": True}]},
        {"capture_id": 7, "caches": [{"name": "a", "load": "yes"}]},
        {"capture_id": [7], "caches": CACHES},
        {"capture_id": True, "caches": CACHES},
    ],
    ids=str,
)
def test_a_stored_plan_of_another_form_ends_the_connector_alone(plan: dict[str, object]) -> None:
    """Whoever may write to the configs topic chooses it."""
    for policy in ("BACKLOG", "FULL_SNAPSHOT", "NONE"):
        with pytest.raises(OffsetsLost, match="the plan of the last snapshot cannot be read"):
            start_policy(policy, True, StartState(SnapshotRecord("old", plan), "old", 7, 7), "new", "spare")


@pytest.mark.parametrize(
    ("policy", "load_initial_data", "state", "decision"),
    [
        pytest.param("FULL_SNAPSHOT", True, FIRST, StartDecision("new", True), id="first start"),
        pytest.param("BACKLOG", True, FIRST, StartDecision("new", True), id="first start, backlog"),
        pytest.param("NONE", True, FIRST, StartDecision("new", True), id="first start, none"),
        pytest.param("BACKLOG", False, FIRST, StartDecision("new", False), id="first start without what was there before"),
        pytest.param("FULL_SNAPSHOT", False, FIRST, StartDecision("new", False), id="first start, full, without what was there before"),
        pytest.param("NONE", False, FIRST, StartDecision("new", False), id="first start, none, without what was there before"),
        pytest.param("BACKLOG", True, LASTED, StartDecision("old", True, LOADS), id="backlog continues; new caches are loaded"),
        pytest.param("BACKLOG", False, LASTED, StartDecision("old", False, LOADS), id="backlog continues; new caches are not loaded"),
        pytest.param("BACKLOG", True, CUT, StartDecision("old", True, LOADS), id="backlog continues a load that was cut short"),
        pytest.param("FULL_SNAPSHOT", True, LASTED, StartDecision("new", True), id="full loads again"),
        pytest.param("FULL_SNAPSHOT", False, LASTED, StartDecision("new", True), id="full loads again, whatever the setting"),
        pytest.param(
            "FULL_SNAPSHOT", True, replace(LASTED, requested_id="old"), StartDecision("old", True, LOADS), id="full continues a named id"
        ),
        pytest.param(
            "FULL_SNAPSHOT",
            False,
            replace(CUT, requested_id="old"),
            StartDecision("old", False, LOADS),
            id="full continues a cut one",
        ),
        pytest.param("FULL_SNAPSHOT", True, replace(LASTED, requested_id="mine"), StartDecision("mine", True), id="full under another id"),
        pytest.param(
            "BACKLOG", True, replace(LASTED, requested_id="mine"), StartDecision("old", True, LOADS), id="backlog keeps the id it continues"
        ),
        pytest.param("BACKLOG", True, LOST, StartDecision("new", True, lost_capture=7), id="the capture is lost"),
        pytest.param("BACKLOG", False, LOST, StartDecision("new", True, lost_capture=7), id="the capture is lost, whatever the setting"),
        pytest.param("BACKLOG", True, replace(LOST, present_capture=9), StartDecision("new", True, lost_capture=7), id="another capture"),
        pytest.param(
            "BACKLOG", True, StartState(COMPLETE, None, 7, 9), StartDecision("new", True, lost_capture=7), id="lost while it was started"
        ),
        pytest.param(
            "BACKLOG",
            True,
            replace(LOST, requested_id="old"),
            StartDecision("spare", True, lost_capture=7),
            id="the named id counts for the lost capture",
        ),
        pytest.param("FULL_SNAPSHOT", True, LOST, StartDecision("new", True), id="full does not miss the capture"),
        pytest.param(
            "FULL_SNAPSHOT", True, replace(LOST, requested_id="old"), StartDecision("spare", True), id="full, named, of a lost capture"
        ),
        pytest.param("NONE", True, ENDED, StartDecision("new", False), id="none begins from now"),
        pytest.param("NONE", True, replace(ENDED, before=UNFINISHED), StartDecision("new", True), id="none loads what was cut short"),
        pytest.param("NONE", False, replace(ENDED, before=UNFINISHED), StartDecision("new", False), id="none, nothing to load"),
        pytest.param("NONE", True, replace(ENDED, requested_id="old"), StartDecision("spare", False), id="none never continues"),
        pytest.param("BACKLOG", True, StartState(SNAPSHOT_ALONE, None, None, 1), StartDecision("new", True), id="a snapshot came before"),
        pytest.param("BACKLOG", True, StartState(OF_0_1_0, None, 7, 7), StartDecision("new", True), id="a record without a capture"),
    ],
)
def test_decision_of_a_start(policy: str, load_initial_data: bool, state: StartState, decision: StartDecision) -> None:
    assert start_policy(policy, load_initial_data, state, state.requested_id or "new", "spare") == decision


@pytest.mark.parametrize(
    ("policy", "load_initial_data", "fresh", "lost", "loads"),
    [
        pytest.param("BACKLOG", True, [], [], {"a": False}, id="nothing came"),
        pytest.param("BACKLOG", True, ["b"], [], {"a": False, "b": True}, id="a new cache is loaded"),
        pytest.param("BACKLOG", False, ["b"], [], {"a": False, "b": False}, id="a new cache is not loaded"),
        pytest.param("BACKLOG", False, ["a"], ["a"], {"a": True}, id="changes were lost: all is sent again"),
        pytest.param("FULL_SNAPSHOT", False, ["a"], ["a"], {"a": True}, id="the same for full"),
        pytest.param("NONE", True, ["a"], ["a"], {"a": False}, id="none does not miss them"),
        pytest.param("NONE", True, ["a"], [], {"a": True}, id="a cache that was made again is loaded"),
    ],
)
def test_loads_after_caches_changed(
    policy: str, load_initial_data: bool, fresh: list[str], lost: list[str], loads: dict[str, bool]
) -> None:
    assert loads_after_change(policy, load_initial_data, {"a": False}, fresh, lost) == loads
