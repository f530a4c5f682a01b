"""Storage of the caches that a watcher knows, in Airflow's state stores of assets (Airflow 3.3)."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ignite_kafka.errors import SettingsError
from ignite_kafka.plan.cache_changes import State, state_of, state_to_dict

log = logging.getLogger(__name__)
_WRITTEN = "written_ms"  # absent from states stored by earlier versions


class AssetState:
    """Loads and saves a watcher's state: the known caches, and the id of the last change.

    :param key: key of the state in every store.
    :param earlier_key: key of the state in an earlier version of the provider.
    """

    def __init__(self, stores: Sequence[Any], key: str, earlier_key: str) -> None:
        self._stores = stores
        self._key = key
        self._earlier_key = earlier_key

    async def load(self) -> tuple[State | None, str, bool]:
        """Load the newest stored state, the id of the last change, and whether all stores agree.

        An unreadable state of another version is left out.
        """
        values = [await self._read(store) for store in self._stores]
        readable = [value for value in values if value is not None]
        if not readable:
            return None, "", not self._stores
        newest = max(readable, key=lambda value: value[0])
        return newest[1], newest[2], all(value == newest for value in values)

    async def save(self, state: State, step: str) -> None:
        """Save the state and the id of the last change in every store.

        :raises AirflowException, AirflowRuntimeError: a store cannot be written.
        """
        value = {"id": step, "state": state_to_dict(state), _WRITTEN: int(time.time() * 1000)}
        for store in self._stores:
            await store.aset(self._key, value)

    async def _read(self, store: Any) -> tuple[int, State, str] | None:
        kept = await store.aget(self._key)
        if kept is None and self._earlier_key != self._key:
            kept = await store.aget(self._earlier_key)
            if isinstance(kept, Mapping) and _WRITTEN in kept:
                return None  # the state of another watcher
        if kept is None:
            return None
        try:
            state = state_of(kept["state"])
            return None if state is None else (int(kept.get(_WRITTEN, 0)), state, str(kept.get("id", "")))
        except (SettingsError, TypeError, ValueError, KeyError, AttributeError) as error:
            log.warning("The stored state of a watcher cannot be read, so the watcher starts anew: %s", error)
            return None
