"""A pair in memory: its record in Kafka, its connectors' marks and runs, and a command that may be killed at any call."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ignite_kafka.admin.connector_lag import ConnectorLag
from ignite_kafka.errors import BacklogRefused, RoleTransitionRefused
from ignite_kafka.ignite.backlog_units import LOST
from ignite_kafka.kafka.partition_lag import PartitionLag
from ignite_kafka.role_transitions import failback, failover, steps, switchover
from ignite_kafka.role_transitions.pair import Pair
from ignite_kafka.role_transitions.waits import Waits
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from ignite_kafka.source.stream.backlog_lag import BacklogLag, UnitLag
from ignite_kafka.state.configs import Retirement
from ignite_kafka.state.role_transitions import RoleTransition


class Killed(Exception):
    """The command's process was killed."""


SOURCE = {"name": "source", "ignite_addresses": "a:1", "cache_whitelist": ["x", "y"], "topic_prefix": "p-", "run_mode": "continuous",
          "process_removals": True, "failover_policy": "BACKLOG"}  # fmt: skip
SINK = {"name": "sink", "ignite_addresses": "b:1", "topics_regex": "p-.*", "topic_prefix": "p-", "run_mode": "continuous",
        "process_updates": True}  # fmt: skip


class Member:
    """A connector of the pair."""

    prefix = clients = topics = secrets = None

    def __init__(self, world: World, settings: ConnectorSettings, name: str = "", ended: bool = False) -> None:
        self.name = name or settings.name
        self.settings = settings
        self.mark_held: Retirement | None = None
        self.ended = ended
        self._world = world

    def newest_run(self) -> Any:
        return SimpleNamespace(ended=self.ended, unknown=False, state="STOPPED" if self.ended else "RUNNING")

    def require_started(self) -> Any:
        return self.newest_run()

    def retirement(self) -> Retirement | None:
        return self.mark_held

    def mark(self, retirement: Retirement) -> None:
        self._world.act(f"mark {self.name}")
        self.mark_held = retirement

    def retire(self, retirement: Retirement) -> None:
        self.mark(retirement)
        self._world.act(f"stop {self.name}")
        self.ended = True

    def admit(self) -> None:
        self._world.act(f"admit {self.name}")
        self.mark_held = None

    def connect(self) -> Any:
        return self

    def __enter__(self) -> Any:
        return SimpleNamespace(cache_names=lambda: self._world.caches)

    def __exit__(self, *_: object) -> None: ...


class World:
    """Both connectors of a pair and of its reverse, and everything that a transition asks or does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.record: RoleTransition | None = None
        self.acts: list[str] = []
        self.dies_at = -1
        self.captured = True
        self.refusal = "UNKNOWN_CONNECTOR"  # of the nodes, once there is no capture
        self.late_writes: dict[str, int] = {}
        self.lost_writes = False  # by the capture
        self.caches = ["x"]
        self.differing = 0  # keys that topic and cache do not share
        self.skipped = 0
        self.sendable = True  # whether a repair can send them
        self.shortened: set[str] = set()
        self.unstored = 0  # records in the topics
        self.stops_early = False  # the run that stores them
        self.answers = True
        self.entries = 10
        self.removed = 0
        self.set_pair()
        self._patch(monkeypatch)

    def set_pair(self, source: dict[str, Any] | None = None, sink: dict[str, Any] | None = None) -> None:
        """Give the pair its settings."""
        ours = SourceSettings.from_dict({**SOURCE, **(source or {})}), SinkSettings.from_dict({**SINK, **(sink or {})})
        back = SimpleNamespace(source=Member(self, ours[0], "back-source", True), sink=Member(self, ours[1], "back-sink", True))
        self.pair = cast(Pair, SimpleNamespace(source=Member(self, ours[0]), sink=Member(self, ours[1]), reverse=back))

    def _patch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(steps, "read_transition", lambda *_: self.record)
        monkeypatch.setattr(steps, "write_transition", self._write)
        for module in (switchover, failover):
            monkeypatch.setattr(module, "sink_lag", lambda _: self._lag())
        monkeypatch.setattr(switchover, "unsent_changes", self._unsent)
        monkeypatch.setattr(failback, "unsent_changes", lambda _: {})  # of the reverse source, which captures
        for module in (switchover, failback):
            monkeypatch.setattr(module.backlog, "cleanup", self._end_capture)
        for module in (failover, failback):
            monkeypatch.setattr(module, "answers", lambda _: self.answers)
        monkeypatch.setattr(failover, "fence", lambda member, _: self.act(f"fence {member.name}"))
        distance = {"newest_record_ms": 1, "unsent": 5, "unstored": 2}
        monkeypatch.setattr(failover, "read_distance", lambda _: SimpleNamespace(to_dict=lambda: distance))
        monkeypatch.setattr(failback, "align", lambda *_: {"x": self.act("align")})
        monkeypatch.setattr(failback, "shortened_topics", lambda *_: self.shortened)
        monkeypatch.setattr(failback, "create_missing_topics", lambda _: self.act("create topics"))
        monkeypatch.setattr(Waits, "until_drained", lambda *_: self.act("drained"))
        monkeypatch.setattr(Waits, "until_stored", lambda *_: 7)

    @property
    def waits(self) -> Waits:
        return Waits(0.01, 0, sleep=lambda _: None)

    def act(self, what: str) -> int:
        """Note an effect, and return the number of effects; the command may be killed before it."""
        if len(self.acts) == self.dies_at:
            self.dies_at = -1
            raise Killed
        self.acts.append(what)
        return len(self.acts)

    def _write(self, *arguments: Any) -> None:
        self.act(f"record {arguments[-1].step}")
        self.record = arguments[-1]

    def _lag(self) -> ConnectorLag:
        behind = PartitionLag("p-x", 0, 0, self.unstored, self.unstored, 0)
        return ConnectorLag("sink", "RUNNING", True, (behind,) if self.unstored else ())

    def _unsent(self, _: object) -> BacklogLag:
        if not self.captured:
            raise BacklogRefused("there is no capture", code=self.refusal)
        units = [UnitLag(name, 0, 1, count, count, 1) for name, count in self.late_writes.items()]
        return BacklogLag(("x",), tuple(units + [UnitLag("x", 1, -1, -1, 0, 0, LOST)] * self.lost_writes))

    def _end_capture(self, *_: object, **__: object) -> None:
        self.act("end capture")
        self.captured = False

    def verify(self, member: Any, repair: bool) -> Any:
        self.act(f"{'repair' if repair else 'verify'} {member.name}")
        missing, equal = self.differing, not self.differing and not self.removed
        if repair and self.sendable:
            self.unstored += self.differing
            self.differing, equal = 0, True
        counts = SimpleNamespace(
            cache="x", topic="p-x", missing=missing, different=0, unexpected=self.removed, entries=self.entries,
            count=missing + self.removed, skipped=self.skipped, noted=(),
        )  # fmt: skip
        return SimpleNamespace(equal=equal, caches=[SimpleNamespace(result=counts, equal=equal)])

    def store(self, member: Any, transition: str) -> None:
        assert member.mark_held.transition == transition, "another run could begin meanwhile"
        self.act(f"run {member.name}")
        self.unstored = 1 if self.stops_early else 0

    def with_kills(self, call: Callable[[], Any]) -> list[list[str]]:
        """Kill the command before each of its effects in turn, repeat it to its end, and return the effects of each round."""
        rounds = []
        effects = self._round(call, -1)
        for number in range(len(effects)):
            rounds.append(self._round(call, number))
        return rounds

    def _round(self, call: Callable[[], Any], dies_at: int) -> list[str]:
        self.__dict__.update(record=self.start, acts=[], dies_at=dies_at, captured=True, differing=self.begins_with, unstored=0)
        for member in (self.pair.source, self.pair.sink):
            cast(Member, member).__dict__.update(mark_held=None, ended=False)
        for member in (self.pair.reverse.source, self.pair.reverse.sink):
            cast(Member, member).__dict__.update(mark_held=Retirement("old", "switchover"), ended=False)
        for _ in range(3):
            try:
                call()
            except (Killed, RoleTransitionRefused):
                continue
            break
        return list(self.acts)

    start: RoleTransition | None = None
    begins_with = 0
