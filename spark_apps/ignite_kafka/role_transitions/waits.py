"""Waits of role transitions, each with a deadline: a drained pair, the end of a run, a started source."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass

from confluent_kafka.admin import OffsetSpec

from ..admin.backlog import flush_captured
from ..admin.connector_lag import ConnectorLag, list_topics, read_lag
from ..admin.lag_by_name import backlog_lag
from ..common.deadline import Clock, Deadline
from ..errors import BacklogRefused, IgniteUnreachable, RoleTransitionRefused
from ..kafka.topics import TopicPartition
from ..settings.connector import ConnectorSettings
from ..settings.source import SourceSettings
from ..source.stream.backlog_lag import BacklogLag
from .pair import Member, Pair

_POLL_S = 0.5
_SHOWN = 5


@dataclass(frozen=True)
class Waits:
    """Limits of the waits of a transition.

    :param longest_s: maximum time of one wait, in seconds.
    :param quiet_s: time for which a drained pair must stay drained, in seconds.
    """

    longest_s: float = 600.0
    quiet_s: float = 10.0
    clock: Clock = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def until(self, reason: Callable[[], str], what: str, remedy: str) -> None:
        """Poll until there is no reason to wait any more.

        :param reason: returns why the wait goes on; an empty text ends it.
        :raises RoleTransitionRefused: the time has passed; the error has the last reason.
        """
        deadline = Deadline.after(self.longest_s, self.clock)
        while text := reason():
            if deadline.expired:
                raise RoleTransitionRefused(f"{what} within {self.longest_s:g} s: {text}", remedy)
            self.sleep(min(_POLL_S, max(deadline.remaining(), 0.01)))

    def until_ended(self, member: Member[ConnectorSettings]) -> None:
        """Wait for the end of the connector's newest run.

        :raises RoleTransitionRefused: it did not end in time.
        """
        self.until(
            lambda: "" if (run := member.newest_run()).ended or run.unknown else f"its state is {run.state}",
            f"the run of {member.name} did not end",
            f"If its driver is dead, abort, start {member.name} again, and repeat; or use failover.",
        )

    def until_drained(self, pair: Pair) -> int:
        """Wait until nothing is left to copy, and nothing new comes for :attr:`quiet_s`.

        :returns: number of records in the topics' offsets that the sink has stored.
        :raises RoleTransitionRefused: changes still came at the deadline, or a connector did not run.
        """
        drained = _Drained(pair, self)
        self.until(
            drained.reason,
            "the pair was not drained",
            "Stop all writers of the source's cluster; see that source and sink run: ignite-kafka status.",
        )
        return sum(drained.ends.values())

    def until_stored(self, pair: Pair) -> int:
        """Wait until the sink has stored all records of its topics, and return the sum of the topics' ends.

        :raises RoleTransitionRefused: records were left at the deadline.
        """
        self.until(
            lambda: describe_lag(sink_lag(pair)),
            "the sink did not store all that arrived",
            "See that the sink runs: ignite-kafka status.",
        )
        return sum(topic_ends(pair).values())


class _Drained:
    """Check that a pair stays drained."""

    def __init__(self, pair: Pair, waits: Waits) -> None:
        self._pair = pair
        self._waits = waits
        self._since: Deadline | None = None
        self.ends: dict[TopicPartition, int] = {}

    def reason(self) -> str:
        """Return why the pair does not count as drained; empty if it does."""
        reason = self._not_drained()
        ends = {} if reason else topic_ends(self._pair)
        if reason or ends != self.ends or self._since is None:
            quiet = self._since is not None and not reason
            self._since = None if reason else Deadline.after(self._waits.quiet_s, self._waits.clock)
            self.ends = ends
            return reason or ("changes still come" if quiet else "it has just been drained")
        return "" if self._since.expired else "it has just been drained"

    def _not_drained(self) -> str:
        source = self._pair.source
        newest = source.newest_run()
        if newest.ended:
            return f"source {source.name} does not run ({newest.state})"
        if (run := self._pair.sink.newest_run()).ended:
            return f"sink {self._pair.sink.name} does not run ({run.state})"
        try:
            with source.connect() as cluster:
                flush_captured(cluster, source.name)
            lag = read_lag(source.clients, source.prefix, source.name, source.connect)
        except BacklogRefused as error:  # the source has only just begun
            return error.what
        if lag.sends_again:
            return "the source has to send partitions again from their caches"
        if not lag.loaded:
            return "the source has not sent the initial data"
        return describe_lag(lag) or describe_lag(sink_lag(self._pair))


def sink_lag(pair: Pair) -> ConnectorLag:
    """Read the lag of the pair's sink."""
    sink = pair.sink
    return read_lag(sink.clients, sink.prefix, sink.name, sink.connect)


def describe_lag(lag: ConnectorLag) -> str:
    """Return what a connector has to copy; empty if nothing, also no record of an open transaction."""
    counts = lag.counts()
    open_counts = lag.open_counts()
    names = sorted({*counts, *open_counts})
    parts = [f"{name} {counts.get(name, 0) + open_counts.get(name, 0):,}" for name in names[:_SHOWN]]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{lag.connector} has to copy {', '.join(parts)}{more}" if parts else ""


def topic_ends(pair: Pair) -> dict[TopicPartition, int]:
    """Return the end offset of each partition of the sink's topics, open transactions included."""
    topics = pair.sink.topics
    counts = topics.counts(list_topics(pair.sink.settings, topics))
    return topics.offsets(
        [(name, number) for name, count in counts.items() for number in range(count)], OffsetSpec.latest()
    )


def unsent_changes(source: Member[SourceSettings]) -> BacklogLag:
    """Return the changes that the nodes captured, and lost or did not send.

    :raises BacklogRefused: the nodes have no capture of the source.
    """
    with source.connect() as cluster:
        flush_captured(cluster, source.name)
        return backlog_lag(cluster, source.name)


def answers(member: Member[ConnectorSettings]) -> bool:
    """Return whether a node of the connector's Ignite cluster answers, also with a refusal.

    :raises AuthenticationFailed: a node refused the user.
    :raises IgniteUnreachable: a node's TLS does not fit the settings.
    """
    try:
        with member.connect() as cluster:
            cluster.active()
    except IgniteUnreachable as error:
        if isinstance(error.__cause__, ssl.SSLError):
            raise
        return False
    return True
