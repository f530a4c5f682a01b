"""Detection of caches that were created, destroyed or changed between two polls of a cluster.

Pure functions, except :func:`poll_caches` and :func:`poll_all`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Protocol

from ..common.deadline import Deadline
from ..errors import CacheNotFound, IgniteUnreachable, SettingsError
from ..ignite.types.model import CacheInfo
from .routing import select

KINDS = ("created", "destroyed", "changed")
_NOTHING = "(?!)"  # an empty whitelist would let every cache through
_ABSENT = ("", "none", "null")
_MAY_BE_UNKNOWN = ("partitions", "mode", "atomicity", "incarnation")


@dataclass(frozen=True)
class CacheLists:
    """Lists that select caches by name, with the rules of a connector's settings."""

    whitelist: tuple[str, ...] = ()
    blacklist: tuple[str, ...] = ()
    backlog_cache_name: str = "kafka-connect-backlog"


@dataclass(frozen=True)
class CacheState:
    """Properties of a cache that are compared between polls.

    :param partitions: number of partitions; 0 if unknown.
    :param mode, atomicity: empty if unknown.
    :param types: `key type → value type` of each query entity.
    :param columns: digest of the query entities; empty without any.
    :param incarnation: empty if unknown.
    """

    cache_id: int
    partitions: int
    mode: str
    atomicity: str
    types: tuple[str, ...] = ()
    columns: str = ""
    incarnation: str = ""

    @staticmethod
    def of(cache: CacheInfo) -> CacheState:
        """Return the state of a cache from its description."""
        entities = sorted(cache.query_entities, key=repr)
        types = tuple(f"{entity.key_type} → {entity.value_type}" for entity in entities)
        columns = _digest([asdict(entity) for entity in entities]) if entities else ""
        return CacheState(
            cache.cache_id, cache.partitions, cache.mode, cache.atomicity, types, columns, cache.incarnation
        )

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> CacheState:
        """Build a state from a dictionary that :meth:`to_dict` of any version returned.

        Unknown properties are ignored, and missing ones are unknown.
        """
        values = {field.name: data[field.name] for field in fields(CacheState) if field.name in data}
        return CacheState(
            **{"partitions": 0, "mode": "", "atomicity": "", **values, "types": tuple(data.get("types", ()))}
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the state as a dictionary for JSON, the input of :meth:`from_dict`."""
        return {**asdict(self), "types": list(self.types)}

    def made_again(self, earlier: CacheState) -> bool:
        """Return whether the cache was destroyed and created again: an immutable property differs from before."""
        for name in ("cache_id", *_MAY_BE_UNKNOWN):
            before = getattr(earlier, name)
            now = getattr(self, name)
            if before != now and (name == "cache_id" or (before and now)):
                return True
        return not set(earlier.types) <= set(self.types)  # each CREATE TABLE generates a new value type

    def changed_fields(self, earlier: CacheState) -> tuple[str, ...]:
        """Return the names of the properties that differ from before, though the cache is the same.

        Query entities change when nodes start with other ones; thin clients do not see the effect of `ALTER TABLE`.
        """
        return tuple(name for name in ("types", "columns") if getattr(self, name) != getattr(earlier, name))

    def with_known(self, earlier: CacheState) -> CacheState:
        """Return the state with its unknown properties taken from an earlier state of the same cache."""
        return replace(self, **{name: getattr(self, name) or getattr(earlier, name) for name in _MAY_BE_UNKNOWN})


State = Mapping[str, CacheState]


@dataclass(frozen=True)
class CacheDiff:
    """Created, destroyed and changed caches between two polls; false in a condition if there are none.

    A cache that was created again is in `destroyed` and in `created`. `id` is equal for equal differences after equal
    differences.

    :param changed: cache to the names of its changed properties.
    :param state: caches at the later poll: the base of the next difference.
    """

    id: str
    created: tuple[str, ...] = ()
    destroyed: tuple[str, ...] = ()
    changed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    state: State = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.created or self.destroyed or self.changed)

    def __str__(self) -> str:
        return "; ".join(f"{kind}: {', '.join(getattr(self, kind))}" for kind in KINDS if getattr(self, kind))

    def only(self, kinds: Iterable[str]) -> CacheDiff:
        """Return the difference limited to the given kinds of change, such as only created caches."""
        left_out: dict[str, Any] = {"created": (), "destroyed": (), "changed": {}}
        for kind in kinds:
            left_out.pop(kind, None)
        return replace(self, **left_out)

    @property
    def cache_whitelist(self) -> list[str]:
        """Patterns for exactly the created and changed caches; without such caches, a pattern that matches nothing."""
        return [re.escape(name) for name in sorted({*self.created, *self.changed})] or [_NOTHING]

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as a dictionary for JSON, the input of :meth:`from_dict`.

        Its keys are `id`, `created`, `destroyed`, `changed`, `cache_whitelist` and `state`.
        """
        return {
            "id": self.id,
            "created": list(self.created),
            "destroyed": list(self.destroyed),
            "changed": {name: list(fields) for name, fields in self.changed.items()},
            "cache_whitelist": self.cache_whitelist,
            "state": state_to_dict(self.state),
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> CacheDiff:
        """Build a difference from a dictionary that :meth:`to_dict` of any version returned."""
        changed = {name: tuple(names) for name, names in data.get("changed", {}).items()}
        return CacheDiff(
            data["id"],
            tuple(data.get("created", ())),
            tuple(data.get("destroyed", ())),
            changed,
            _states(data["state"]),
        )


class CacheSource(Protocol):
    """Interface of a cluster for polls of its caches; implementation: :class:`ignite_kafka.ignite.cluster.Cluster`."""

    def cache_names(self) -> list[str]:
        """Return the names of all caches of the cluster."""

    def cache(self, name: str) -> CacheInfo:
        """Return the description of the cache with the given name."""

    def active(self) -> bool:
        """Return whether the cluster is active."""


Polled = Mapping[CacheLists, dict[str, CacheState] | SettingsError]
"""Result of a poll for several watchers: for each, its caches' states by name, or the error in a pattern."""


def poll_caches(cluster: CacheSource, lists: CacheLists, deadline: Deadline | None = None) -> dict[str, CacheState]:
    """Read the states of the selected caches from the cluster; a cache destroyed meanwhile is left out.

    :raises IgniteUnreachable: no node answered, the cluster is not active, or the deadline passed before the last cache
        was read.
    :raises SettingsError: a pattern cannot be used.
    """
    states = poll_all(cluster, [lists], deadline)[lists]
    if isinstance(states, SettingsError):
        raise states
    return states


def poll_all(cluster: CacheSource, several: Iterable[CacheLists], deadline: Deadline | None = None) -> Polled:
    """Read the states of caches for several selections at once, so that each cache is read only once.

    :raises IgniteUnreachable: see :func:`poll_caches`.
    """
    _check_active(cluster)
    names = cluster.cache_names()
    selected = {lists: _selected(names, lists) for lists in several}
    states = {}
    for name in sorted(
        {name for chosen in selected.values() if not isinstance(chosen, SettingsError) for name in chosen}
    ):
        if deadline is not None and deadline.expired:
            raise IgniteUnreachable(
                "the cluster answers too slowly: not all caches were read in time",
                "Select fewer caches, or allow more time",
            )
        try:
            states[name] = CacheState.of(cluster.cache(name))
        except CacheNotFound:
            continue
    _check_active(cluster)  # caches of a deactivated cluster seem to be missing
    return {
        lists: chosen
        if isinstance(chosen, SettingsError)
        else {name: states[name] for name in chosen if name in states}
        for lists, chosen in selected.items()
    }


def _selected(names: Iterable[str], lists: CacheLists) -> list[str] | SettingsError:
    """Return the selected names, or a pattern's error as a result, so that polls of other watchers continue."""
    try:
        return select(names, lists.whitelist, lists.blacklist, lists.backlog_cache_name)
    except SettingsError as error:
        return error


def _check_active(cluster: CacheSource) -> None:
    if not cluster.active():
        raise IgniteUnreachable("the cluster is not active", "Activate it")


def difference(before: State, after: State, previous: str = "") -> CacheDiff:
    """Compare two polls, and return which caches were created, destroyed or changed.

    :param previous: id of the previous difference, so that equal changes get different ids.
    """
    both = before.keys() & after.keys()
    again = {name for name in both if after[name].made_again(before[name])}
    same = sorted(both - again)
    changed = {name: fields for name in same if (fields := after[name].changed_fields(before[name]))}
    state = {**after, **{name: after[name].with_known(before[name]) for name in same}}
    return CacheDiff(
        id=_digest([previous, state_to_dict(before), state_to_dict(state)]),
        created=tuple(sorted((after.keys() - before.keys()) | again)),
        destroyed=tuple(sorted((before.keys() - after.keys()) | again)),
        changed=changed,
        state=dict(sorted(state.items())),
    )


def state_to_dict(state: State) -> dict[str, Any]:
    """Return the cache states of a poll as a dictionary for JSON, an input of :func:`state_of`."""
    return {name: state[name].to_dict() for name in sorted(state)}


def state_of(value: object) -> dict[str, CacheState] | None:
    """Parse the cache states of an earlier poll, given as states, a difference, or JSON of either; None: no poll.

    After an empty state every cache counts as created.

    :raises SettingsError: the value is none of these.
    """
    if value is None or (isinstance(value, str) and value.strip().lower() in _ABSENT):
        return None
    try:
        data = json.loads(value) if isinstance(value, str) else value
        if data is None:
            return None
        if isinstance(data, Mapping):
            return _states(data["state"] if isinstance(data.get("id"), str) else data)
    except (ValueError, TypeError, KeyError, AttributeError):
        pass
    remedy = "Give the difference or the state that an earlier poll returned; in a template, through the filter tojson"
    raise SettingsError("known holds no state of caches", remedy, setting="known", value=str(value)[:100])


def _states(data: Mapping[str, Any]) -> dict[str, CacheState]:
    return {name: CacheState.from_dict(data[name]) for name in sorted(data)}


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
