"""Records of the `write_id`s of data source `kafka-tx` in the configs topic, so that no write is sent twice.

The offsets topic has one record of each Spark partition, for the write that was begun last. So it does not show which
records an older write has sent.
"""

from __future__ import annotations

import logging

from ..errors import Fenced, SnapshotConflict
from ..state.configs import ConnectorState, SnapshotRecord
from ..state.configs_writer import ConfigsWriter

log = logging.getLogger(__name__)


def is_complete(state: ConnectorState, name: str, write_id: str) -> bool:
    """Return whether a write of this id has already sent all its records.

    :raises SnapshotConflict: the write is unfinished, and another write was begun since.
    """
    ended = state.ended.get(write_id)
    if ended and ended["superseded_by"]:
        raise SnapshotConflict(
            f"write {ended['superseded_by']!r} was begun before this one was complete, and which records this one sent "
            "is no longer known",
            "Give another write_id; partitions of the DataFrame that this one has committed are then in the topic "
            "twice.",
            connector=name,
            write_id=write_id,
        )
    return bool(ended and ended["complete"])


def find_topic_id(state: ConnectorState, write_id: str) -> str:
    """Return the topic id recorded when the write began, to detect a deleted topic.

    The id is empty if another write was begun last, or if the rows name several topics.
    """
    begun = state.snapshot
    return str(begun.plan.get("topic_id", "")) if begun is not None and begun.id == write_id else ""


def begin_write(
    control: ConfigsWriter, state: ConnectorState, write_id: str, *, named: bool, topic_id: str = ""
) -> None:
    """Begin a write, or continue it if it was begun last; mark another, unfinished write as superseded.

    :param named: whether the user gave the id. A generated id is never repeated, so the end of its write need not be
        remembered.
    :param topic_id: id of the topic, if all records go to the same topic.
    """
    continued = state.snapshot is not None and state.snapshot.id == write_id
    plan = {"topic_id": topic_id} if topic_id else {}
    control.begin(None if continued else SnapshotRecord(write_id, plan, complete=not named), state.snapshot)


def end_write(control: ConfigsWriter, state: ConnectorState, write_id: str, generation: int) -> None:
    """Record that a write is complete; record nothing if a newer write has begun, and refuse this write's id later."""
    try:
        if state.connector is not None and state.connector.generation == generation:
            control.end_snapshot(SnapshotRecord(write_id, {}), {})
            return
    except Fenced as fenced:
        log.info("%s", fenced)
    log.warning("write %r is complete, but another began before that was recorded: its id will be refused", write_id)
