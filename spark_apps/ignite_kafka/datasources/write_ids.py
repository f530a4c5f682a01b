"""Ids of writes to topics, kept in the connector's control records as a snapshot's are.

The offsets topic has one record of each Spark partition, that of the write begun last: what an older write has sent it no longer tells.
"""

from __future__ import annotations

import logging

from ..errors import Fenced, SnapshotConflict
from ..state.configs import ConnectorState, SnapshotRecord
from ..state.configs_writer import ConfigsWriter

log = logging.getLogger(__name__)


def is_complete(state: ConnectorState, name: str, write_id: str) -> bool:
    """Whether a write has sent all it had.

    :raises SnapshotConflict: it has not, and another was begun since.
    """
    ended = state.ended.get(write_id)
    if ended and ended["superseded_by"]:
        raise SnapshotConflict(
            f"write {ended['superseded_by']!r} was begun before this one was complete, and which records this one sent is no longer known",
            "Give another write_id; each partition of the DataFrame that this one had committed is then in the topic twice.",
            connector=name,
            write_id=write_id,
        )
    return bool(ended and ended["complete"])


def topic_id(found: ConnectorState, write_id: str) -> str:
    """The id that the topic of the write begun last had then; empty: another write was begun last, or it had no one topic."""
    goes_on = found.snapshot is not None and found.snapshot.id == write_id
    return str(found.snapshot.plan.get("topic_id", "")) if goes_on and found.snapshot is not None else ""


def begin(control: ConfigsWriter, found: ConnectorState, write_id: str, *, named: bool, topic_id: str = "") -> None:
    """Begin a write, or go on with the one begun last; an unfinished other one is marked as superseded.

    :param named: whether the user gave the id. One that nobody knows is never asked for again, so its end need not be remembered.
    :param topic_id: of the one topic that all records go to.
    """
    goes_on = found.snapshot is not None and found.snapshot.id == write_id
    plan = {"topic_id": topic_id} if topic_id else {}
    control.begin(None if goes_on else SnapshotRecord(write_id, plan, complete=not named), found.snapshot)


def end(control: ConfigsWriter, found: ConnectorState, write_id: str, generation: int) -> None:
    """Record that a write is complete; if a newer one has begun meanwhile that is left out, as nothing can be sent for it any more."""
    try:
        if found.connector is not None and found.connector.generation == generation:
            control.end_snapshot(SnapshotRecord(write_id, {}), {})
            return
    except Fenced as fenced:
        log.info("%s", fenced)
    log.warning("write %r is complete, but another began before that was recorded: its id will be refused", write_id)
