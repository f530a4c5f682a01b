"""Run of a sink: stores topics in caches, up to the ends of topics at its start, or until it is stopped."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property

from pyspark.sql import SparkSession

from .. import events
from ..common.deadline import Interval
from ..convert.to_ignite import ClusterTypes
from ..errors import IgniteKafkaError, SettingsError
from ..ignite.active_active import check_active_active, check_unversioned
from ..ignite.write_fence import WriteFence, WriterToken, generation_in_force
from ..kafka.clients import BRIEF_S
from ..kafka.partition_lag import PartitionLag, counts_by_name, open_by_name, partition_lags
from ..kafka.topics import Topics, TopicSpec
from ..plan.sink_plan import SinkPlan
from ..runtime import parallelism
from ..runtime.clients import connected, ignite_cluster
from ..runtime.connector_run import RunRequest
from ..runtime.counts import SlotResult, counts_of
from ..runtime.driver_consumer import DriverConsumer
from ..runtime.epoch import LONGEST_S, Epoch
from ..runtime.epoch_run import CHECK_S, EpochRun
from ..runtime.spark_job import Work, slot_work
from ..settings.sink import SinkSettings
from ..state import status
from ..state import target_state as target
from ..state.configs import ConnectorState
from ..state.status import CacheStatus, RunStatus, TaskProgress
from ..state.types_topic import TypesTopic
from .caches import ensure_caches
from .conflict_watch import ConflictWatch
from .fence import fence_name
from .lag_watch import STALLED_S, LagWatch
from .planning import make_plan, partitions_of, with_batch_bytes, with_first_offsets
from .record_types import RecordTypes
from .start_offsets import own_group_offsets
from .task import sink_slots

log = logging.getLogger(__name__)


def run_sink(spark: SparkSession, request: RunRequest[SinkSettings]) -> RunStatus:
    """Run a sink: store the records of topics in caches, until the topics' ends or a stop.

    :returns: the run's record: COMPLETED when the ends are reached, STOPPED when stopped.
    :raises IgniteKafkaError: the error that ended the run; the next run continues at the committed offsets.
    """
    with ExitStack() as stack:
        return SinkRun(spark, request, stack).run()


class SinkRun(EpochRun[SinkSettings]):
    """Driver of a sink's run: plans, creates caches, claims the connector, and runs epochs."""

    _cluster_id = 0

    def _run(self) -> None:
        settings = self._settings
        self._cluster = self._stack.enter_context(ignite_cluster(settings, self._secrets))
        self._cluster.cache_names()  # a refusal by the cluster comes before the connector is claimed
        self._record_nodes(self._cluster)
        self._stack.enter_context(connected(settings))
        state = self._state()
        _check_direction(settings, state)
        if not settings.streams and self._requested_target() == target.PAUSED:
            remedy = f"Resume it with `ignite-kafka resume {settings.name}`"
            raise SettingsError("the connector is paused", remedy, connector=settings.name)
        slots = parallelism.slots(settings, state, parallelism.cores(self._spark))
        chosen = self._retry(lambda: make_plan(settings, self._topics, slots))
        places = partitions_of(chosen.topics)
        # before anything is claimed: a killed run's transaction may still be open
        committed = self._retry(lambda: own_group_offsets(places, settings, self._topics, stable=False))
        self._types_topic = TypesTopic(self._clients, settings.source_types_topic)
        created = self._ensure_caches(chosen)
        _report_lacking(chosen, created, {topic for (topic, _), (offset, _) in committed.items() if offset > 0})
        plan = self._retry(lambda: self._with_dead_letter_topic(chosen))
        fence = self._claim_generation(slots, state)
        plan_now = self._retry(lambda: with_first_offsets(plan, self._topics, self._clients))
        generation = self._control.record.generation
        self._plan = replace(plan_now, generation=generation, fence=fence, cluster_id=self._cluster_id)
        self._retry(self._control.begin)
        self._establish_fence()
        self._consumer = self._retry(lambda: DriverConsumer(self._clients, self._topics, self._plan))
        self._stack.callback(self._consumer.close)
        self._adopt_target()
        events.emit(
            events.RUN_STARTED, connector=settings.name, run_id=self._request.run_id, generation=self._plan.generation
        )
        self._status = replace(
            self._status, generation=self._plan.generation, caches=planned_counts(self._plan), state=self._target
        )
        self._report_awaited()
        self._retry(self._publish)
        completed = self._epochs(ends=not settings.streams)
        if completed:
            self._retry(self._report_open)
        self._close_run(status.COMPLETED if completed else status.STOPPED)

    def _claim_generation(self, slots: int, state: ConnectorState) -> str:
        """Claim the connector, with a generation that is new to the Ignite cluster, too; return the fence's name.

        Generations begin again after the internal topics were deleted. The cluster's do not.
        """
        settings = self._settings
        fence = ""
        if settings.strict:
            fence = self._retry(lambda: fence_name(self._topics, settings.internal_topic_prefix, settings.name))
        in_force = self._retry(lambda: generation_in_force(self._cluster, fence, settings.order_field)) if fence else 0
        self._control = self._configs_writer()
        self._claim(self._control, slots, state)
        if fence:
            claimed = self._control.record
            self._control.record = replace(claimed, generation=max(claimed.generation, in_force + 1))
        return fence

    def _establish_fence(self) -> None:
        """End the right of earlier runs to write, if delivery is strict; called when the generation is published.

        Without topics, the token of the first task begins the generation.
        """
        if self._plan.fence and self._plan.caches:
            token = WriterToken(self._plan.generation)
            self._retry(WriteFence(self._cluster, self._plan.fence, (), token, self._plan.caches).establish)

    def _report_open(self) -> None:
        """Report records that this run could not read, because an open transaction precedes them."""
        lags = self._lags(self._topics)
        self._metrics.update_lag(counts_by_name(lags))
        counts = open_by_name(lags)
        if waiting := ", ".join(f"{topic} ({count:,})" for topic, count in sorted(counts.items()) if count):
            events.emit(events.RECORDS_OPEN, connector=self._settings.name, topics=waiting)

    def _lags(self, topics: Topics) -> list[PartitionLag]:
        # not stable, because the transaction of a stuck task has offsets, too
        names = [topic.name for topic in self._plan.topics]
        return partition_lags(topics, self._settings.group_id, names, stable=False)

    @cached_property
    def _lag_checks(self) -> Interval:
        return Interval(CHECK_S)

    def _watch_lag(self) -> None:
        """Read the lag, and emit events for partitions that have lag and no progress, and for refused writes."""
        if self._conflict_checks.due():
            self._count_conflicts(self._plan)
        if not self._lag_checks.due():
            return
        try:
            lags = self._lags(Topics(replace(self._clients, patience_s=BRIEF_S)))
        except IgniteKafkaError as error:  # if the error matters, the tasks raise it, too
            log.warning("the lag cannot be read: %s", error)
            return
        self._metrics.update_lag(counts_by_name(lags))
        # positions do not move in a pause
        stalled = self._lag_watch.stalled(lags) if self._job is not None else []
        if stalled:
            places = ", ".join(
                f"{lag.name} {lag.partition} at offset {lag.position} ({lag.count:,} wait)" for lag in stalled
            )
            seconds = int(self._lag_watch.stalled_s)
            events.emit(events.LAG_STANDS, connector=self._settings.name, seconds=seconds, partitions=places)

    def _count_conflicts(self, plan: SinkPlan) -> None:
        """Count the writes that nodes refused by their versions; the first count of a cache is the begin."""
        if self._settings.active_active:
            self._metrics.update_refused(*self._conflicts.look(plan.caches))

    @cached_property
    def _conflict_checks(self) -> Interval:
        return Interval(self._settings.progress_interval_ms / 1000)

    @cached_property
    def _conflicts(self) -> ConflictWatch:
        return ConflictWatch(self._cluster, shows_keys=self._settings.log_values)

    def _ensure_caches(self, plan: SinkPlan) -> list[str]:
        self._retry(self._types_topic.read)
        created = ensure_caches(plan, self._cluster, self._types_topic.cache)
        if self._settings.active_active:
            self._cluster_id = self._retry(lambda: check_active_active(self._cluster, plan.caches)).cluster_id
            self._count_conflicts(plan)
        elif not self._settings.allow_unversioned:
            self._retry(lambda: check_unversioned(self._cluster, plan.caches))
        types = RecordTypes(ClusterTypes(self._cluster), self._types_topic)
        for topic in plan.topics:
            types.register_used(topic.name)
        return created

    def _with_dead_letter_topic(self, plan: SinkPlan) -> SinkPlan:
        """Create a missing dead-letter topic, and return the plan with the topic's maximum batch size.

        :raises TopicError: the user may not create the topic or write to it.
        """
        name = self._settings.dead_letter_topic
        if not name:
            return plan
        self._topics.ensure([TopicSpec(name, 1, self._settings.dead_letter_copies)])
        states = self._topics.describe([name])
        for state in states.values():
            state.check_writable()
        return with_batch_bytes(plan, states)

    @property
    def _run_plan(self) -> SinkPlan:
        return self._plan

    @property
    def _refresh_interval_ms(self) -> int:
        return self._settings.topic_list_poll_interval_ms

    def _next_epoch(self, number: int, configs_offset: int) -> Epoch:
        return Epoch(number, configs_offset, seconds=LONGEST_S)

    def _work(self, epoch: Epoch, tasks: Sequence[Sequence[int]]) -> Work | None:
        if not self._plan.topics:
            return None
        self._lag_watch = LagWatch(max(STALLED_S, 2 * self._settings.push_interval_ms / 1000))
        return slot_work(sink_slots, self._plan, tasks, self._request.secrets_file, epoch)

    def _on_epoch_end(self, epoch: Epoch, results: Sequence[SlotResult]) -> None:
        self._count_conflicts(self._plan)
        self._add([result.caches for result in results], planned_counts(self._plan))
        self._publish_progress()

    def _on_progress(self, tasks: Sequence[TaskProgress], of: int) -> None:
        self._add([counts_of(task) for task in tasks], planned_counts(self._plan))
        self._publish_progress()

    # new topics and partitions

    def _plan_now(self) -> SinkPlan:
        """Plan anew with the topics that exist now; keep the previous plan while the brokers do not answer."""
        try:
            now = make_plan(self._settings, self._topics, self._plan.slots)
        except IgniteKafkaError as error:
            if error.final:
                raise
            log.warning("the topics cannot be listed: %s", error)
            return self._plan
        # only the first start may begin at the ends: new partitions are read from their first record
        begins = {topic.name: topic.begins for topic in self._plan.topics}
        topics = tuple(replace(topic, begins=begins.get(topic.name, ())) for topic in now.topics)
        names = ("generation", "max_batch_bytes", "fence", "cluster_id")
        kept = {name: getattr(self._plan, name) for name in names}
        return replace(now, topics=topics, **kept)

    def _changed(self) -> bool:
        return self._plan_now() != self._plan

    def _report_awaited(self) -> None:
        """Report topics of the settings that do not exist yet; called when the plan has changed."""
        missing = sorted(set(self._settings.topics) - {topic.name for topic in self._plan.topics})
        if missing:
            events.emit(events.TOPICS_AWAITED, connector=self._settings.name, topics=", ".join(missing))

    def _refresh_plan(self, epoch: int) -> None:
        if not self._settings.streams:
            return
        now = self._plan_now()
        if now == self._plan:
            return
        before = {(topic.name, topic.partitions) for topic in self._plan.topics}
        added = [
            f"{topic.name} ({topic.partitions} partitions)"
            for topic in now.topics
            if (topic.name, topic.partitions) not in before
        ]
        events.emit(events.TOPICS_CHANGED, connector=self._settings.name, added=", ".join(added) or "none")
        self._ensure_caches(now)
        self._plan = replace(now, cluster_id=self._cluster_id)
        self._report_awaited()
        self._status = replace(self._status, caches={**planned_counts(now), **self._status.caches})


def planned_counts(plan: SinkPlan) -> dict[str, CacheStatus]:
    """Return the status of each planned cache before anything is stored; a shared cache has its first topic's name."""
    counts: dict[str, CacheStatus] = {}
    for topic in plan.topics:
        before = counts.get(topic.cache, CacheStatus(topic.name))
        counts[topic.cache] = replace(before, units=before.units + topic.partitions)
    return counts


def _report_lacking(plan: SinkPlan, created: Collection[str], read: Collection[str]) -> None:
    """Warn about newly created caches that lack records read before, because reading continues at the offsets.

    :param created: names of the created caches.
    :param read: topics with records that the group has read.
    """
    for topic in plan.topics:
        if topic.cache in created and topic.name in read:
            events.emit(events.CACHE_LACKS_RECORDS, cache=topic.cache, topic=topic.name, group=plan.settings.group_id)


def _check_direction(settings: SinkSettings, state: ConnectorState) -> None:
    """Refuse the name of an existing source connector, because a source's offset records have another form."""
    if state.connector is not None and state.connector.is_source:
        raise SettingsError(
            "a source connector has this name", "Give the sink another one.", setting="name", value=settings.name
        )
