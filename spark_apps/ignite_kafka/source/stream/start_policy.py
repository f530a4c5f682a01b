"""Decision, at a stream's start, whether to continue the last snapshot and which caches to load.

Pure functions of the state before and of the settings.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from ...common.typed_json import read_as
from ...state.configs import SnapshotRecord
from ...state.sent_topics import unreadable_plan

NO_CAPTURE_ID = 0
"""Capture id of a stream whose caches do not exist yet; the service gives other ids."""


@dataclass(frozen=True)
class StartState:
    """What is known of a connector and its capture before a stream starts, as input of :func:`start_policy`.

    :param before: the snapshot that the connector began last; None: it never ran.
    :param requested_id: snapshot id in the request; None: the request has none.
    :param present_capture: id of the capture that existed before the start; None: there was none.
    :param capture: id of the current capture.
    """

    before: SnapshotRecord | None
    requested_id: str | None
    present_capture: int | None
    capture: int


@dataclass(frozen=True)
class _StoredCache:
    name: str
    load: bool


@dataclass(frozen=True)
class _StoredPlan:
    """Fields of the last run's plan, read from the configs topic; not trusted, because others can write the topic."""

    capture_id: int | None = None
    caches: tuple[_StoredCache, ...] = ()


@dataclass(frozen=True)
class StartDecision:
    """Snapshot id of a starting stream, and the caches to load, as :func:`start_policy` decides.

    :param snapshot_id: the stream's snapshot id.
    :param load: whether caches that are not in `loads` are loaded.
    :param loads: for each cache of a continued snapshot, whether it is loaded.
    :param lost_capture: id of the capture whose changes are lost although the policy relies on them; None: nothing is
        lost.
    """

    snapshot_id: str
    load: bool
    loads: Mapping[str, bool] = field(default_factory=dict)
    lost_capture: int | None = None


def start_policy(
    policy: str, load_initial_data: bool, state: StartState, planned_id: str, spare_id: str
) -> StartDecision:
    """Decide whether a starting stream continues the last snapshot, and which caches it loads.

    It continues the last snapshot if the capture lasted, and the policy is BACKLOG or the request has that snapshot's
    id. The caches are loaded once, whatever the policy; an unfinished load begins again. FULL_SNAPSHOT, and BACKLOG
    after a lost capture, load everything again, whatever `load_initial_data` is.

    :param policy: the setting `failover_policy`.
    :param planned_id: snapshot id of a new snapshot.
    :param spare_id: snapshot id of a new snapshot if the planned id is that of the last snapshot, whose offsets belong
        to another capture.
    :raises OffsetsLost: the plan of the last snapshot cannot be read.
    """
    before = state.before
    stored = _StoredPlan() if before is None else _stored_plan(before)
    known_capture = stored.capture_id
    lasted = known_capture is not None and known_capture == state.present_capture == state.capture
    if before is not None and lasted and (policy == "BACKLOG" or before.id == state.requested_id):
        loads = {cache.name: cache.load for cache in stored.caches}
        return StartDecision(before.id, _load(policy, load_initial_data, before), loads)
    never_captured = before is None or known_capture == NO_CAPTURE_ID
    load = _load(policy, load_initial_data, before) if never_captured or policy == "NONE" else True
    lost = known_capture if known_capture and policy == "BACKLOG" else None
    return StartDecision(spare_id if before is not None and planned_id == before.id else planned_id, load, {}, lost)


def _stored_plan(before: SnapshotRecord) -> _StoredPlan:
    try:
        return read_as(_StoredPlan, before.plan)
    except ValueError as error:
        raise unreadable_plan(error) from error


def _load(policy: str, load_initial_data: bool, before: SnapshotRecord | None) -> bool:
    return load_initial_data and (policy != "NONE" or before is None or not before.complete)


def loads_after_change(
    policy: str, load_initial_data: bool, loads: Mapping[str, bool], fresh: Collection[str], lost: Collection[str]
) -> dict[str, bool]:
    """Return by cache whether to load its entries, after caches appeared, vanished, or lost captured changes.

    :param loads: for each cache whether it was to be loaded before.
    :param fresh: caches that are new, were created again, or lost their capture.
    :param lost: caches in `fresh` that are the same caches as before.
    """
    return {**loads, **dict.fromkeys(fresh, load_initial_data), **dict.fromkeys(lost, policy != "NONE")}
