"""Trigger that fires when caches of an Ignite cluster are created, destroyed or changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException
from airflow.sdk.exceptions import AirflowRuntimeError
from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from airflow_provider_ignite_kafka.cache_watch.poll import FATAL, TRANSIENT, CachePoller, as_list, checked_kinds
from ignite_kafka.errors import SettingsError
from ignite_kafka.plan.cache_changes import KINDS, CacheLists, CacheState, State, difference, state_of, state_to_dict
from ignite_kafka.settings.java_patterns import check_pattern


def error_event(error: Exception) -> TriggerEvent:
    """The event by which a trigger that fires once reports an error; ``event_to_exception`` reads it."""
    return TriggerEvent({"error": f"{type(error).__name__}: {error}", "final": isinstance(error, FATAL)})


def event_to_exception(event: Mapping[str, Any]) -> AirflowException | None:
    """The exception for an event that reports an error; None for any other event."""
    if "error" not in event:
        return None
    return (AirflowFailException if event.get("final") else AirflowException)(event["error"])


class IgniteCacheWatchTrigger(BaseEventTrigger):
    """Poll a cluster and fire each difference to the last state; see ``ignite_kafka.plan.cache_changes.CacheDiff``.

    In an ``AssetWatcher`` it runs without end and keeps its state in the asset's state store (Airflow 3.3). It starts from the stored
    state, else from `known`, else from its first poll. If the cluster does not answer, it waits and fires the changes afterwards.

    :param ignite_conn_id: connection of type `ignite`.
    :param cache_whitelist: patterns as in the settings of a connector. Default: all caches.
    :param cache_blacklist: patterns of caches to leave out.
    :param backlog_cache_name: prefix of the connectors' backlog caches, which never match.
    :param kinds: changes to fire for, of ``created``, ``destroyed``, ``changed``. Other changes only update the state.
    :param poll_interval: seconds between two polls.
    :param known: initial state, as an earlier difference holds it; ``{}``: every cache is new.
    :param secrets_file: path of a secrets file on the triggerer, whose user and passwords override the connection's.
    :param once: fire once and end, without a known state after the first poll; for deferred tasks. An error that no later poll cures is
        then fired, too: ``{"error": reason, "final": whether no retry can help}``.

    The constructor checks no argument, because an exception would end the whole triggerer. Arguments are checked when the Dag is parsed or
    the task deferred (``serialize``), and before the first poll.
    """

    # a triggerer stores an event in the database about a second after it fired; the state must be stored after the event
    event_stored_s = 5.0
    # interval of the error of a blocked watcher; Airflow would restart an ended one at once
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
        self.poller: CachePoller | None = None

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Class path and arguments; of the connection only its id.

        :raises SettingsError: an argument is wrong; for a watcher Airflow shows it as import error of the Dag.
        """
        names = ("ignite_conn_id", "cache_whitelist", "cache_blacklist", "backlog_cache_name", "poll_interval", "known", "once", "kinds")
        path = f"{type(self).__module__}.{type(self).__qualname__}"
        checked = self._checked()
        # omitted if empty: a trigger stored by an earlier version must stay equal to the Dag's
        file = {"secrets_file": self.secrets_file} if self.secrets_file else {}
        return path, {name: checked[name] for name in names} | file

    def _checked(self) -> dict[str, Any]:
        """Arguments by name, as they are serialized.

        :raises SettingsError: one is wrong.
        """
        try:
            lists = {name: as_list(getattr(self, name)) for name in ("cache_whitelist", "cache_blacklist")}
            for pattern in (*lists["cache_whitelist"], *lists["cache_blacklist"]):
                check_pattern(pattern)
            kinds, in_order = list(checked_kinds(self.kinds)), 0 <= self.poll_interval < float("inf")
            state = state_of(self.known)
        except (TypeError, ValueError, AttributeError) as error:
            raise SettingsError(f"an argument of IgniteCacheWatchTrigger is wrong: {error}", "Correct it in the Dag.") from error
        if not in_order:
            raise SettingsError(f"poll_interval is {self.poll_interval}", "Give seconds, 0 or more.")
        return {
            **lists,
            "ignite_conn_id": self.ignite_conn_id,
            "backlog_cache_name": self.backlog_cache_name,
            "kinds": kinds,
            "poll_interval": self.poll_interval,
            "known": None if state is None else state_to_dict(state),
            "once": bool(self.once),
        }

    def _prepare(self) -> None:
        """Check the arguments and create the poller."""
        for name, value in self._checked().items():
            setattr(self, name, value)
        if self.poller is None:
            self.poller = CachePoller.of(
                self.ignite_conn_id, self.cache_whitelist, self.cache_blacklist, self.backlog_cache_name, self.secrets_file
            )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Fire each difference; with `once` one event, which may report an error.

        A watcher fires no errors, because each event starts a Dag run: it logs them and waits.
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
        seen, step = await self._stored()
        stored = True
        while True:
            now = await self._poll()
            if now is not None:
                if seen is None:
                    seen, stored = now, False
                    if self.once:
                        yield TriggerEvent(difference(now, now).to_dict())
                        return
                diff = difference(seen, now, step)
                if wanted := diff.only(self.kinds):
                    self.log.info("Caches %s", wanted)
                    yield TriggerEvent(wanted.to_dict())
                    if self.once:
                        return
                    await asyncio.sleep(self.event_stored_s)
                if diff or diff.state != seen or not stored:
                    seen, step = diff.state, diff.id if diff else step
                    stored = await self._store(seen, step)
            await asyncio.sleep(self.poll_interval)

    async def _poll(self) -> dict[str, CacheState] | None:
        """Poll in a thread; None if that failed and may succeed later."""
        assert self.poller is not None
        try:
            return await asyncio.to_thread(self.poller.poll)
        except (*TRANSIENT, AirflowException, AirflowRuntimeError) as error:
            if self.once and (isinstance(error, FATAL) or not isinstance(error, TRANSIENT)):
                raise
            self.log.warning("Ignite could not be polled; next poll in %s s: %s", self.poll_interval, error)
            return None

    async def _stored(self) -> tuple[State | None, str]:
        """The asset's stored state and the id of its last difference, else `known`."""
        for store in self._stores():
            kept = await store.aget(self._key())
            if kept is not None:
                return state_of(kept), kept["id"]
        return state_of(self.known), ""

    def _key(self) -> str:
        assert self.poller is not None
        return self.poller.state_key(self.known)

    def _stores(self) -> list[Any]:
        """State stores of the watched assets (Airflow 3.3), all with equal content; none in a task.

        Airflow merges equal triggers into one, so that several assets may share this one.
        """
        shared = getattr(self, "asset_state_store", None)
        if shared is None:
            return []
        by_asset = {**getattr(shared, "_by_name", {}), **getattr(shared, "_by_uri", {})}  # no public method lists them
        return [by_asset[name] for name in sorted(by_asset)] or [shared]

    async def _store(self, seen: State, step: str) -> bool:
        """Store the state; False if that failed and must be repeated."""
        try:
            for store in self._stores():
                await store.aset(self._key(), {"id": step, "state": state_to_dict(seen)})
        except (AirflowException, AirflowRuntimeError) as error:
            self.log.warning("The state could not be stored; after a restart the last change would be fired again: %s", error)
            return False
        return True
