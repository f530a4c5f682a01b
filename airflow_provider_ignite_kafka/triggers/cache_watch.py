"""Trigger that fires when caches of an Ignite cluster come, go or change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from airflow.providers.common.compat.sdk import AirflowException, AirflowFailException
from airflow.sdk.exceptions import AirflowRuntimeError
from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from airflow_provider_ignite_kafka.cache_watch.poll import FATAL, PASSING, CacheLooks, as_list, checked_kinds
from ignite_kafka.errors import SettingsError
from ignite_kafka.plan.cache_changes import KINDS, CacheLists, CacheState, State, difference, state_of, state_to_dict
from ignite_kafka.settings.java_patterns import check_pattern

_BLOCKED_S = 3_600.0  # a watcher that cannot work says so as often; ended, it would be started again at once
# a triggerer writes an event into the database about a second after it was fired; the state follows it, never the other way
_EVENT_STORED_S = 5.0


def failure_event(error: Exception) -> TriggerEvent:
    """The event of a trigger that fires once and cannot: what :func:`failure_of` reads."""
    return TriggerEvent({"error": f"{type(error).__name__}: {error}", "final": isinstance(error, FATAL)})


def failure_of(event: Mapping[str, Any]) -> AirflowException | None:
    """The exception of a task whose trigger could not look; None for another event."""
    if "error" not in event:
        return None
    return (AirflowFailException if event.get("final") else AirflowException)(event["error"])


class IgniteCacheWatchTrigger(BaseEventTrigger):
    """Look again and again, and fire the difference to what was last seen; see :class:`ignite_kafka.plan.cache_changes.CacheDiff`.

    In an ``AssetWatcher`` it goes on for ever and keeps what it has seen in the asset's state store (Airflow 3.3): it begins with what is
    stored there, else with `known`, else with its first look. A cluster that is away is waited for: what changed meanwhile is fired
    afterwards.

    :param ignite_conn_id: connection of type `ignite`.
    :param cache_whitelist: patterns as in the settings of a connector; none: all caches.
    :param cache_blacklist: patterns of caches to leave out.
    :param backlog_cache_name: caches of connectors, which never match.
    :param kinds: what to fire for, of ``created``, ``destroyed``, ``changed``. Others move what was last seen, and no more.
    :param poll_interval: seconds from one look to the next.
    :param known: what was last seen: the state that an earlier difference holds; ``{}``: nothing, so that every cache is new.
    :param secrets_file: path of a secrets file on the triggerer, whose user and passwords take the place of the connection's.
    :param once: fire once and end, also for the first look where nothing is known; for deferred tasks. What waiting does not mend is then
        fired, too: ``{"error": reason, "final": whether no retry helps}``.

    The constructor takes every argument as it is, because one that raises ends the whole triggerer. Arguments are checked when the Dag is
    read or the task deferred (:meth:`serialize`), and before the first look.
    """

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
        self.look: CacheLooks | None = None

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Class path and arguments; the connection is named, none of its fields is here.

        :raises SettingsError: an argument is wrong; where the trigger is a watcher's, an import error of the Dag.
        """
        names = ("ignite_conn_id", "cache_whitelist", "cache_blacklist", "backlog_cache_name", "poll_interval", "known", "once", "kinds")
        path = f"{type(self).__module__}.{type(self).__qualname__}"
        checked = self._checked()
        # left out where there is none: a stored trigger of an earlier version must stay equal to the Dag's
        file = {"secrets_file": self.secrets_file} if self.secrets_file else {}
        return path, {name: checked[name] for name in names} | file

    def _checked(self) -> dict[str, Any]:
        """Arguments by name, in the form that they are stored in.

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
        """Take the arguments as they are checked."""
        for name, value in self._checked().items():
            setattr(self, name, value)
        if self.look is None:
            self.look = CacheLooks.of(
                self.ignite_conn_id, self.cache_whitelist, self.cache_blacklist, self.backlog_cache_name, self.secrets_file
            )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Fire a difference as often as there is one; with `once` one event, which may be that of a failure.

        A watcher never fires a failure, as each event makes a Dag run: it logs and waits.
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
        except (*PASSING, AirflowException, AirflowRuntimeError) as error:
            if not self.once:
                raise
            yield failure_event(error)

    async def _blocked(self, error: SettingsError) -> AsyncIterator[TriggerEvent]:
        if self.once:
            yield failure_event(error)
            return
        while True:
            self.log.error("This watcher cannot work until its Dag is corrected: %s", error)
            await asyncio.sleep(_BLOCKED_S)

    async def _differences(self) -> AsyncIterator[TriggerEvent]:
        seen, step = await self._stored()
        stored = True
        while True:
            now = await self._look()
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
                    await asyncio.sleep(_EVENT_STORED_S)
                if diff or diff.state != seen or not stored:
                    seen, step = diff.state, diff.id if diff else step
                    stored = await self._store(seen, step)
            await asyncio.sleep(self.poll_interval)

    async def _look(self) -> dict[str, CacheState] | None:
        """A look in a thread of its own, None where it failed and may succeed later."""
        assert self.look is not None
        try:
            return await asyncio.to_thread(self.look)
        except (*PASSING, AirflowException, AirflowRuntimeError) as error:
            if self.once and (isinstance(error, FATAL) or not isinstance(error, PASSING)):
                raise
            self.log.warning("Ignite could not be looked at; again in %s s: %s", self.poll_interval, error)
            return None

    async def _stored(self) -> tuple[State | None, str]:
        """What was last seen and the id of the step that led there: of the asset this watches for, else what the trigger was given."""
        for store in self._stores():
            kept = await store.aget(self._key())
            if kept is not None:
                return state_of(kept), kept["id"]
        return state_of(self.known), ""

    def _key(self) -> str:
        assert self.look is not None
        return self.look.key(self.known)

    def _stores(self) -> list[Any]:
        """The state stores of the assets that this watches for (Airflow 3.3), all kept alike; none in a task.

        Airflow makes one trigger of triggers that are equal, so several assets may share this one.
        """
        shared = getattr(self, "asset_state_store", None)
        if shared is None:
            return []
        by_asset = {**getattr(shared, "_by_name", {}), **getattr(shared, "_by_uri", {})}  # it has no public way to list them
        return [by_asset[name] for name in sorted(by_asset)] or [shared]

    async def _store(self, seen: State, step: str) -> bool:
        """Keep what was last seen; False where that failed and is to be tried again."""
        try:
            for store in self._stores():
                await store.aset(self._key(), {"id": step, "state": state_to_dict(seen)})
        except (AirflowException, AirflowRuntimeError) as error:
            self.log.warning("What was seen could not be stored; a restart now would fire the last change again: %s", error)
            return False
        return True
