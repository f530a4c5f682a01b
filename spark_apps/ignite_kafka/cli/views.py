"""Views of plans, connectors, runs and offsets, made without writing anything."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from ..admin.delivery import delivery_of
from ..admin.lost_run import LOST, REMEDY, silent_s
from ..admin.shown_offsets import read_offsets, read_states
from ..admin.signals import SignalView, failed_signals, unfinished_signals
from ..admin.target_state import NewestRun, list_connectors, unknown_connector_error
from ..common.versions import versions_text
from ..errors import IgniteKafkaError
from ..kafka.clients import KafkaClients
from ..kafka.topics import Topics
from ..plan.source_plan import TransferPlan
from ..preflight import report_unmatched
from ..runtime.clients import ignite_cluster, kafka_clients
from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from ..settings.source import SourceSettings
from ..source.planning import continue_plan, make_plan
from ..state.configs import ConnectorState, read_connector
from ..state.offsets import read_slots
from ..state.sent_topics import check_plan
from ..state.signals import read_signals
from ..state.status import STOPPED, RunStatus, read_run_written, read_runs
from ..state.target_state import RUNNING, read_target
from .signals import describe_signal
from .tables import table

_DEFAULT = "broker's default"
_NEW = "(new)"
_UNDECIDED = 0  # number of slots before a connector's first run: Spark's cores decide


@dataclass(frozen=True)
class CachePreview:
    """A cache of a plan.

    :param topic_partitions: number of partitions; None: the broker's default.
    :param replication_factor: replication factor of a topic to create; None: the broker's default, or the topic exists.
    :param override: expression in the setting `overrides` that applies to the cache.
    """

    cache: str
    topic: str
    topic_exists: bool
    topic_partitions: int | None
    replication_factor: int | None
    units: int
    units_done: int
    records_done: int
    override: str | None = None


@dataclass(frozen=True)
class PlanView:
    """Plan of the next run of a source; ``state`` is new, unfinished, complete or superseded."""

    connector: str
    snapshot_id: str
    state: str
    converter: str
    slots: int | None
    tasks: int | None
    units: int
    caches: tuple[CachePreview, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the plan as JSON values."""
        return asdict(self)

    def text(self) -> str:
        """Return the view as text for a terminal."""
        override = ("override",) if any(c.override for c in self.caches) else ()
        head = ("cache", "topic", "topic partitions", "units", "done", "records sent", *override)
        rows = [
            (
                c.cache,
                c.topic,
                _describe_partitions(c),
                c.units,
                c.units_done,
                c.records_done,
                *((c.override or "",) if override else ()),
            )
            for c in self.caches
        ]
        tasks = (
            f"at most {self.tasks} tasks" if self.tasks else "as many tasks as Spark has cores, at most one per slot"
        )
        slots = f"{self.slots} slots" if self.slots else "slots: two per Spark core"
        done = sum(c.units_done for c in self.caches)
        return "\n".join(
            [
                f"connector {self.connector}, snapshot {self.snapshot_id} ({self.state}), converter {self.converter}",
                f"{self.units:,} units, {done:,} done, {slots}, {tasks}",
                "",
                table(head, rows),
            ]
        )


def _describe_partitions(cache: CachePreview) -> str:
    if cache.topic_exists:
        return str(cache.topic_partitions)
    count, copies = (
        _DEFAULT if number is None else str(number) for number in (cache.topic_partitions, cache.replication_factor)
    )
    return f"{count}, replication factor {copies}, to be created"


def _none_if_default(number: int) -> int | None:
    return None if number == -1 else number


def plan_view(settings: SourceSettings, secrets: Secrets, snapshot_id: str | None = None) -> PlanView:
    """Return the plan of the snapshot that a run with the settings would begin or continue.

    :raises SettingsError, CacheNotFound, UnsupportedType, SnapshotConflict, TopicError: as the run would.
    """
    clients = kafka_clients(settings, secrets)
    clients.check()
    topics = Topics(clients)
    state = read_connector(clients, topics, settings.internal_topic_prefix, settings.name)
    last = state.snapshot
    slots = settings.slots or (state.connector.slots if state.connector else _UNDECIDED)
    chosen = snapshot_id or (last.id if last is not None and not last.complete else None)
    with ignite_cluster(settings, secrets) as cluster:
        if last is not None and last.id == chosen:
            plan = continue_plan(TransferPlan.from_dict(dict(last.plan)), settings, topics)
            check_plan(plan, last, clients, topics)
            kind = "complete" if last.complete else "unfinished"
        else:
            plan = make_plan(settings, cluster, topics, chosen or _NEW, slots)
            kind = "new"
            report_unmatched(settings, [cache.name for cache in plan.caches])
            ended = state.ended.get(chosen or "")
            kind = ("complete" if ended["complete"] else f"superseded by {ended['superseded_by']}") if ended else kind
    return _make_plan_view(plan, kind, clients, topics, started=state.connector is not None)


def _make_plan_view(plan: TransferPlan, kind: str, clients: KafkaClients, topics: Topics, *, started: bool) -> PlanView:
    existing = topics.existing()
    incarnations = {cache.name: cache.incarnation for cache in plan.caches}
    units: dict[str, int] = dict.fromkeys(incarnations, 0)
    records: dict[str, int] = dict.fromkeys(incarnations, 0)
    prefix = plan.settings.internal_topic_prefix
    for state in read_slots(clients, topics, prefix, plan.connector, plan.slots) if started else ():
        for (cache, _), unit in state.units.items():
            if unit.done and unit.snapshot_id == plan.snapshot_id and unit.incarnation == incarnations.get(cache):
                units[cache] += 1
                records[cache] += unit.records
    caches = tuple(
        CachePreview(
            cache.name,
            cache.topic,
            cache.topic in existing,
            existing.get(cache.topic) or cache.topic_partitions or None,
            _none_if_default(plan.settings.of(cache.name).new_topic(cache.topic).replication_factor)
            if cache.topic not in existing
            else None,
            cache.partitions,
            units[cache.name],
            records[cache.name],
            plan.settings.override_of(cache.name),
        )
        for cache in plan.caches
    )
    limit = plan.settings.tasks_max
    tasks = min(plan.slots or limit, limit) if limit else None
    converter = plan.settings.value_converter
    slots = plan.slots or None
    return PlanView(
        plan.connector,
        plan.snapshot_id,
        kind,
        converter,
        slots,
        tasks,
        sum(cache.partitions for cache in plan.caches),
        caches,
    )


@dataclass(frozen=True)
class StatusView:
    """State and runs of a connector.

    :param target: requested target state; None: no request yet.
    :param silent_s: seconds since the last report of the newest run if the run is lost; otherwise None.
    :param signals: ad-hoc snapshots that have failed since the newest run's start, and those that have not ended.
    """

    control: ConnectorState
    runs: Mapping[str, RunStatus]
    target: str | None = None
    silent_s: float | None = None
    signals: Sequence[SignalView] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the state and runs as JSON values."""
        connector = self.control.connector
        snapshot = self.control.snapshot
        shown = None if snapshot is None else {"id": snapshot.id, "complete": snapshot.complete}
        return {
            "connector": None if connector is None else asdict(connector),
            "target": self.target,
            "delivery": None if (delivery := delivery_of(connector)) is None else asdict(delivery),
            "snapshot": shown,
            "runs": {run_id: asdict(run) for run_id, run in self.runs.items()},
            "lost": None if self.silent_s is None else {"run_id": self._newest_id, "silent_s": round(self.silent_s)},
            "signals": [asdict(signal) for signal in self.signals],
        }

    @property
    def _newest_id(self) -> str:
        return NewestRun.of(self.control, self.runs).run_id

    def text(self) -> str:
        """Return the view as text for a terminal."""
        connector = self.control.connector
        snapshot = self.control.snapshot
        lines = []
        if connector is not None:
            lines.append(
                f"generation {connector.generation}, {connector.slots} slots, target state {self.target or RUNNING}"
            )
        if (delivery := delivery_of(connector)) is not None:
            left_open = f": {delivery.not_promised}" if delivery.not_promised else ""
            lines.append(f"delivery {delivery.mode}{left_open}")
        if snapshot is not None:
            lines.append(f"last snapshot {snapshot.id}: {'complete' if snapshot.complete else 'not finished'}")
        lost = None if self.silent_s is None else self._newest_id
        if self.silent_s is not None:
            lines.append(f"run {lost} is lost: no report for {self.silent_s:,.0f} s. {REMEDY}")
        head = ("run", "state", "snapshot", "started", "seconds", "records", "error")
        newest = self.runs.get(self._newest_id) if self.runs else None
        if newest is not None and newest.versions:
            lines.append(f"newest run with {versions_text(newest.versions)}")
        lines += [describe_signal(signal) for signal in self.signals]
        shown = [replace(run, state=LOST) if run_id == lost else run for run_id, run in self.runs.items()]
        return "\n".join([*lines, "", table(head, [_make_run_row(run) for run in shown])])


def _make_run_row(run: RunStatus) -> tuple[object, ...]:
    started = time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(run.started_ms / 1000))
    seconds = "" if run.ended_ms is None else f"{(run.ended_ms - run.started_ms) / 1000:.1f}"
    error = "" if run.error is None else f"{run.error.get('type')}: {IgniteKafkaError.from_dict(dict(run.error))}"
    return (
        run.run_id,
        run.state,
        run.snapshot_id,
        started,
        seconds,
        sum(cache.records for cache in run.caches.values()),
        error,
    )


def status_view(settings: ConnectorSettings, secrets: Secrets) -> StatusView:
    """Read the state and the runs of a connector.

    :raises SettingsError: no connector of that name was ever started.
    """
    clients = kafka_clients(settings, secrets)
    clients.check()
    topics = Topics(clients)
    prefix = settings.internal_topic_prefix
    control = read_connector(clients, topics, prefix, settings.name)
    runs = read_runs(clients, prefix, settings.name)
    newest = NewestRun.of(control, runs)
    if newest.unknown:
        raise unknown_connector_error(settings, list_connectors(clients, topics, prefix))
    _, reported_ms = read_run_written(clients, prefix, settings.name, newest.run_id)
    silent = silent_s(newest.run, control.connector, reported_ms, time.time() * 1000)
    fold = read_signals(clients, topics, prefix, settings.name)
    failed = failed_signals(fold, newest.run.started_ms if newest.run is not None else 0)
    signals = [*failed, *unfinished_signals(clients, prefix, settings.name, fold)]
    return StatusView(control, runs, read_target(clients, topics, prefix, settings.name), silent, signals)


def offset_lines(settings: ConnectorSettings, secrets: Secrets) -> Iterator[str]:
    """Yield a JSON line for each offset of :func:`.shown_offsets.read_offsets`."""
    for offset in read_offsets(settings, secrets):
        yield json.dumps(offset, separators=(",", ":"))


def offsets_table(settings: ConnectorSettings, secrets: Secrets) -> str:
    """Return a table of a connector's offsets.

    A source has a row for each cache, snapshot and incarnation, with the numbers of finished and of streamed units. A
    sink has a row for each topic partition, with the next offset.
    """
    counts: dict[tuple[str, str, str], list[int]] = {}
    highest: dict[tuple[str, str, str], list[int]] = {}
    positions: list[tuple[str, int, int, str]] = []
    for state in read_states(settings, secrets):
        positions += [(*place, copied.offset, copied.topic_id) for place, copied in state.by_topic.items()]
        for (cache, _), unit in state.units.items():
            place = cache, unit.snapshot_id or "", unit.incarnation
            count = counts.setdefault(place, [0, 0, 0])
            count[0] += unit.done
            count[1] += unit.records
            count[2] += unit.high >= 0
            highest.setdefault(place, []).extend([unit.high] if unit.high >= 0 else [])
    if positions:
        return table(("topic", "partition", "next offset", "topic id"), sorted(positions))
    rows = [(*place, *count, _format_range(highest[place])) for place, count in sorted(counts.items())]
    return table(
        ("cache", "snapshot", "incarnation", "units done", "records", "units streamed", "numbers sent up to"), rows
    )


def _format_range(highest: Sequence[int]) -> str:
    """Return the lowest and highest of the numbers as text."""
    return (
        ""
        if not highest
        else f"{min(highest):,}"
        if min(highest) == max(highest)
        else f"{min(highest):,} … {max(highest):,}"
    )


def run_table(run: RunStatus) -> str:
    """Return the result of a run as a table with a row for each topic."""
    rare = [name for name in ("bad", "filtered") if any(getattr(cache, name) for cache in run.caches.values())]
    head = ("cache", "topic", "entries", "records", "bytes", "units", *rare)
    rows = [
        (name, c.topic, c.entries, c.records, c.bytes, c.units_done, *(getattr(c, count) for count in rare))
        for name, c in run.caches.items()
    ]
    ended = run.ended_ms or run.started_ms
    took = f"after {(ended - run.started_ms) / 1000:.1f} s"
    if run.state == STOPPED:
        return f"{table(head, rows)}\nstopped {took}, as requested"
    what = "was complete already" if run.already_complete else f"is complete {took}"
    of = f"snapshot {run.snapshot_id}" if run.snapshot_id else "the run"
    return f"{table(head, rows)}\n{of} {what}"
