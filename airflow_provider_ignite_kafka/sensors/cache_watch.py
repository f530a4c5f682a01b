"""Sensor that waits until caches of an Ignite cluster are created, destroyed or changed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException, PokeReturnValue

from airflow_provider_ignite_kafka.airflow_api import keep, task_store
from airflow_provider_ignite_kafka.cache_watch.poll import FATAL, POLL_TIMEOUT_S, TRANSIENT, CachePoller, checked_kinds
from airflow_provider_ignite_kafka.runs.result import error_to_exception
from airflow_provider_ignite_kafka.sensors.deferrable import DeferrableSensor
from airflow_provider_ignite_kafka.triggers.arguments import event_to_exception
from airflow_provider_ignite_kafka.triggers.cache_watch import IgniteCacheWatchTrigger
from ignite_kafka.plan.cache_changes import CacheDiff, CacheLists, State, difference, state_of, state_to_dict

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

_KEY = "ignite-cache-watch"


class IgniteCacheWatchSensor(DeferrableSensor):
    """Sensor that waits until a cluster's caches differ from the known state, and returns the difference.

    The task returns ``ignite_kafka.plan.cache_changes.CacheDiff.to_dict``. The known state is `known`, by default the
    result of the first poll.

    Airflow's task state store keeps the state over reschedules, deferrals, retries and clearing of the task. Every run,
    even if it times out, pushes the state as XCom ``known``: pass the previous run's XCom as `known`, and no change
    between two runs is missed.

    :param ignite_conn_id: connection of type `ignite`. Templated.
    :param cache_whitelist: patterns as in the settings of a connector. Default: all caches. Templated.
    :param cache_blacklist: patterns of caches to leave out. Templated.
    :param backlog_cache_name: prefix of the connectors' backlog caches, which never match.
    :param kinds: changes to wait for, of ``created``, ``destroyed``, ``changed``. Other changes only update the known
        state.
    :param known: result of an earlier sensor or its ``state``, also as JSON; ``{}``: every cache is new. Templated.
    :param secrets_file: path of a secrets file on worker and triggerer, whose user and passwords override the
        connection's. Templated.
    :param poll_timeout: maximum time of a poll, in seconds; a longer poll counts as no answer of the cluster.
    :param deferrable: wait in the triggerer. Default: option `[operators] default_deferrable`.
    """

    template_fields: Sequence[str] = ("ignite_conn_id", "cache_whitelist", "cache_blacklist", "known", "secrets_file")
    template_fields_renderers = {"known": "json"}
    ui_color = "#e0ecf4"

    def __init__(
        self,
        *,
        ignite_conn_id: str = "ignite_default",
        cache_whitelist: str | Sequence[str] = (),
        cache_blacklist: str | Sequence[str] = (),
        backlog_cache_name: str = CacheLists.backlog_cache_name,
        kinds: Sequence[str] = ("created",),
        known: Mapping[str, Any] | str | None = None,
        secrets_file: str | None = None,
        poll_timeout: float = POLL_TIMEOUT_S,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.ignite_conn_id = ignite_conn_id
        self.cache_whitelist = cache_whitelist
        self.cache_blacklist = cache_blacklist
        self.backlog_cache_name = backlog_cache_name
        self.kinds = kinds
        checked_kinds(kinds)
        self.known = known
        self.secrets_file = secrets_file
        self.poll_timeout = poll_timeout
        self._seen: dict[str, Any] | None = None

    def execute_complete(
        self, context: Context, event: dict[str, Any], deadline: float | None = None, **_newer: Any
    ) -> dict[str, Any]:
        """Return the difference in the trigger's event, or wait again if it has no wanted kind of change.

        :raises AirflowFailException, AirflowException: the trigger could not poll Ignite; the former if no retry can
            help.
        """
        if (failure := event_to_exception(event)) is not None:
            raise failure
        diff = CacheDiff.from_dict(event)
        self._push(context, diff.state)
        chosen = diff.only(self.kinds)
        if not chosen:
            self._keep(context, diff.state)
            self.wait(context, deadline or time.time() + self.timeout)
        return chosen.to_dict()

    def check(self, context: Context) -> PokeReturnValue:
        """Poll the cluster once for a wanted difference; without an answer, Airflow calls again later."""
        try:
            seen = self._state_before(context)
            now = self._poller().poll(self.poll_timeout)
        except TRANSIENT as error:
            if isinstance(error, FATAL):
                raise error_to_exception(error) from error
            self.log.warning("Ignite could not be polled: %s", error)
            return PokeReturnValue(False)
        diff = difference(now if seen is None else seen, now)
        self._push(context, diff.state)
        if chosen := diff.only(self.kinds):
            self.log.info("Caches %s", chosen)
            return PokeReturnValue(True, chosen.to_dict())
        if diff.state != seen:
            self._keep(context, diff.state)
        return PokeReturnValue(False)

    def trigger(self, context: Context) -> IgniteCacheWatchTrigger:
        """Make a trigger that fires once, at the next difference from the known state."""
        seen = self._state_before(context)
        return IgniteCacheWatchTrigger(
            ignite_conn_id=self.ignite_conn_id,
            cache_whitelist=self.cache_whitelist,
            cache_blacklist=self.cache_blacklist,
            backlog_cache_name=self.backlog_cache_name,
            poll_interval=self.poke_interval,
            known=None if seen is None else state_to_dict(seen),
            once=True,
            secrets_file=self.secrets_file,
            poll_timeout=self.poll_timeout,
        )

    def _poller(self) -> CachePoller:
        return CachePoller.of(
            self.ignite_conn_id, self.cache_whitelist, self.cache_blacklist, self.backlog_cache_name, self.secrets_file
        )

    def _state_before(self, context: Context) -> State | None:
        """Read the state of the caches to compare with: the stored state, or else `known`.

        If `known` is used, it is stored, because its template may render to another value later.
        """
        store = task_store(context)
        kept = state_of(store.get(_KEY) if store is not None else self._seen)
        if kept is not None:
            return kept
        state = state_of(self.known)
        if state is not None:
            self._keep(context, state)
        elif store is None and self.reschedule and not self.deferrable:
            raise AirflowFailException(
                "mode='reschedule' without `known` needs the task state store of Airflow 3.3: give `known`"
            )
        return state

    def _push(self, context: Context, seen: State) -> None:
        context["ti"].xcom_push(key="known", value=state_to_dict(seen))

    def _keep(self, context: Context, seen: State) -> None:
        store = task_store(context)
        if store is None:
            self._seen = state_to_dict(seen)
        else:
            keep(store, _KEY, state_to_dict(seen))
