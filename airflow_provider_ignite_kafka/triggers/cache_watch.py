"""Trigger that fires when caches of an Ignite cluster are created, destroyed or changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from airflow.providers.common.compat.sdk import AirflowException
from airflow.sdk.exceptions import AirflowRuntimeError
from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from airflow_provider_ignite_kafka.airflow_api import asset_stores
from airflow_provider_ignite_kafka.cache_watch.asset_state import AssetState
from airflow_provider_ignite_kafka.cache_watch.poll import (
    FATAL,
    POLL_TIMEOUT_S,
    TRANSIENT,
    CachePoller,
    as_list,
    checked_kinds,
)
from airflow_provider_ignite_kafka.cache_watch.shared_polls import Watch, watching
from airflow_provider_ignite_kafka.triggers.arguments import error_event, refuse_unknown, seconds
from ignite_kafka.errors import SettingsError
from ignite_kafka.java.patterns import check_pattern
from ignite_kafka.plan.cache_changes import KINDS, CacheLists, CacheState, difference, state_of, state_to_dict

_ARGUMENTS = (
    "ignite_conn_id",
    "cache_whitelist",
    "cache_blacklist",
    "backlog_cache_name",
    "poll_interval",
    "known",
    "once",
    "kinds",
)


class IgniteCacheWatchTrigger(BaseEventTrigger):
    """Trigger that polls an Ignite cluster and fires each change of its caches, as a ``CacheDiff``.

    See ``ignite_kafka.plan.cache_changes.CacheDiff``. In an ``AssetWatcher`` the trigger runs without end and keeps its
    state in the asset's state store (Airflow 3.3). It starts from the stored state, else from `known`, else from its
    first poll. If the cluster does not answer, the trigger waits and fires the changes afterwards.

    :param ignite_conn_id: connection of type `ignite`.
    :param cache_whitelist: patterns as in the settings of a connector. Default: all caches.
    :param cache_blacklist: patterns of caches to leave out.
    :param backlog_cache_name: prefix of the connectors' backlog caches, which never match.
    :param kinds: changes to fire for, of ``created``, ``destroyed``, ``changed``. Other changes only update the state.
    :param poll_interval: seconds between two polls.
    :param known: initial state, in the form of an earlier difference's state; ``{}``: every cache is new.
    :param secrets_file: path of a secrets file on the triggerer, whose user and passwords override the connection's.
    :param once: fire once and end, without a known state after the first poll; for deferred tasks. An error that later
        polls would have, too, is then fired, too: ``{"error": reason, "final": whether no retry can help}``.

    :param poll_timeout: maximum time of a poll, in seconds; a longer poll counts as no answer of the cluster.

    Watchers and deferred sensors of one connection share their polls, see
    :mod:`~airflow_provider_ignite_kafka.cache_watch.shared_polls`.

    The constructor raises nothing, because an exception would end the whole triggerer. Arguments are checked when the
    Dag is parsed or the task deferred (``serialize``), and before the first poll. A triggerer of another version of the
    provider ignores arguments that it does not know, and has a default for each.
    """

    # a triggerer stores an event in the database about a second after the event fired; the state must be stored after
    # the event
    event_stored_s = 5.0
    # interval of the error logs of a blocked watcher; Airflow would restart an ended watcher at once
    blocked_s = 3_600.0

    def __init__(
        self,
        *,
        ignite_conn_id: str = "ignite_default",
        cache_whitelist: str | Sequence[str] = (),
        cache_blacklist: str | Sequence[str] = (),
        backlog_cache_name: str = CacheLists.backlog_cache_name,
        kinds: Sequence[str] = KINDS,
        poll_interval: float = 60.0,
        known: Mapping[str, Any] | None = None,
        once: bool = False,
        secrets_file: str | None = None,
        poll_timeout: float = POLL_TIMEOUT_S,
        **unknown: Any,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # BaseTrigger has no annotations
        self.ignite_conn_id = ignite_conn_id
        self.cache_whitelist = cache_whitelist
        self.cache_blacklist = cache_blacklist
        self.backlog_cache_name = backlog_cache_name
        self.kinds = kinds
        self.poll_interval = poll_interval
        self.known = known
        self.once = once
        self.secrets_file = secrets_file
        self.poll_timeout = poll_timeout
        self.unknown = unknown
        self.poller: CachePoller | None = None

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Serialize the trigger for Airflow's database, with the connection's id instead of its secrets.

        :raises SettingsError: an argument is wrong; for a watcher Airflow shows it as import error of the Dag.
        """
        refuse_unknown(type(self).__name__, self.unknown, (*_ARGUMENTS, "secrets_file", "poll_timeout"))
        checked = self._checked()
        # omitted if they are defaults, because a trigger stored by an earlier version must stay equal to the Dag's
        later = {"secrets_file": self.secrets_file or None, "poll_timeout": checked["poll_timeout"]}
        defaults = {"secrets_file": None, "poll_timeout": POLL_TIMEOUT_S}
        changed = {name: value for name, value in later.items() if value != defaults[name]}
        return f"{type(self).__module__}.{type(self).__qualname__}", {
            name: checked[name] for name in _ARGUMENTS
        } | changed

    def _checked(self) -> dict[str, Any]:
        """Check the arguments and return them by name, in the form stored in Airflow's database.

        :raises SettingsError: an argument is wrong.
        """
        try:
            lists = {name: as_list(getattr(self, name)) for name in ("cache_whitelist", "cache_blacklist")}
            for pattern in (*lists["cache_whitelist"], *lists["cache_blacklist"]):
                check_pattern(pattern)
            kinds = list(checked_kinds(self.kinds))
            state = state_of(self.known)
        except (TypeError, ValueError, AttributeError) as error:
            raise SettingsError(
                f"an argument of IgniteCacheWatchTrigger is wrong: {error}", "Correct it in the Dag."
            ) from error
        return {
            **lists,
            "ignite_conn_id": self.ignite_conn_id,
            "backlog_cache_name": self.backlog_cache_name,
            "kinds": kinds,
            "poll_interval": seconds(type(self).__name__, "poll_interval", self.poll_interval),
            "poll_timeout": seconds(type(self).__name__, "poll_timeout", self.poll_timeout, positive=True),
            "known": None if state is None else state_to_dict(state),
            "once": bool(self.once),
        }

    def _prepare(self) -> None:
        """Check the arguments and create the poller, before the first poll."""
        for name, value in self._checked().items():
            setattr(self, name, value)
        if self.unknown:
            self.log.warning(
                "Arguments of another version of the provider are ignored: %s", ", ".join(sorted(self.unknown))
            )
        if self.poller is None:
            self.poller = CachePoller.of(
                self.ignite_conn_id,
                self.cache_whitelist,
                self.cache_blacklist,
                self.backlog_cache_name,
                self.secrets_file,
            )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Poll the cluster, and fire each change of its caches; with `once`, a single event.

        A watcher fires no errors, because each event starts a Dag run; it logs the errors and waits.
        """
        try:
            self._prepare()
        except SettingsError as error:
            async for event in self._blocked(error):
                yield event
            return
        try:
            async for event in self._differences():
                yield event
        except (*TRANSIENT, AirflowException, AirflowRuntimeError) as error:
            if not self.once:
                raise
            yield error_event(error)

    async def _blocked(self, error: SettingsError) -> AsyncIterator[TriggerEvent]:
        if self.once:
            yield error_event(error)
            return
        while True:
            self.log.error("This watcher cannot work until its Dag is corrected: %s", error)
            await asyncio.sleep(self.blocked_s)

    async def _differences(self) -> AsyncIterator[TriggerEvent]:
        assert self.poller is not None
        keys = self.poller.state_key(self.known, self.kinds), self.poller.state_key(self.known)
        kept = AssetState(asset_stores(getattr(self, "asset_state_store", None)), *keys)
        seen, step, stored = await kept.load()
        seen = state_of(self.known) if seen is None else seen
        with watching(self.poller, self.poll_timeout) as watch:
            while True:
                now = await self._poll(watch)
                if now is not None:
                    if seen is None:
                        seen = now
                        stored = False
                        if self.once:
                            yield TriggerEvent(difference(now, now).to_dict())
                            return
                    diff = difference(seen, now, step)
                    if chosen := diff.only(self.kinds):
                        self.log.info("Caches %s", chosen)
                        yield TriggerEvent(chosen.to_dict())
                        if self.once:
                            return
                        await asyncio.sleep(self.event_stored_s)
                    if diff or diff.state != seen or not stored:
                        seen = diff.state
                        step = diff.id if diff else step
                        stored = await self._store(kept, seen, step)
                await asyncio.sleep(watch.due_in(self.poll_interval))

    async def _poll(self, watch: Watch) -> dict[str, CacheState] | None:
        """Await the next poll's state of the caches; None if the poll failed and a later poll may succeed."""
        try:
            return await watch.next()
        except (*TRANSIENT, AirflowException, AirflowRuntimeError) as error:
            if self.once and (isinstance(error, FATAL) or not isinstance(error, TRANSIENT)):
                raise
            self.log.warning("Ignite could not be polled; next poll in %s s: %s", self.poll_interval, error)
            return None

    async def _store(self, kept: AssetState, seen: Mapping[str, CacheState], step: str) -> bool:
        """Store the caches' state for the next triggerer; return False if storing must be repeated."""
        try:
            await kept.save(seen, step)
        except (AirflowException, AirflowRuntimeError) as error:
            self.log.warning(
                "The state could not be stored; after a restart the last change would be fired again: %s", error
            )
            return False
        return True
