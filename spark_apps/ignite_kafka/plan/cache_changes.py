"""Which caches came, went or changed between two looks at a cluster: one pure difference for all who watch."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from ..errors import CacheNotFound, IgniteUnreachable, SettingsError
from ..ignite.types.model import CacheInfo
from .routing import select

KINDS = ("created", "destroyed", "changed")
_NOTHING = "(?!)"  # an empty whitelist would let every cache through
_ABSENT = ("", "none", "null")


@dataclass(frozen=True)
class CacheLists:
    """The caches that are looked at, chosen as a connector chooses those that it copies."""

    whitelist: tuple[str, ...] = ()
    blacklist: tuple[str, ...] = ()
    backlog_cache_name: str = "kafka-connect-backlog"


@dataclass(frozen=True)
class CacheState:
    """What matters of one cache.

    :param partitions: 0 where no node tells.
    :param types: `key type → value type` of each query entity.
    :param columns: digest of the query entities, empty where the cache has none.
    :param incarnation: empty where it is not known.
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
        entities = sorted(cache.query_entities, key=repr)
        types = tuple(f"{entity.key_type} → {entity.value_type}" for entity in entities)
        columns = _digest([asdict(entity) for entity in entities]) if entities else ""
        return CacheState(cache.cache_id, cache.partitions, cache.mode, cache.atomicity, types, columns, cache.incarnation)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> CacheState:
        return CacheState(**{**data, "types": tuple(data["types"])})

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "types": list(self.types)}

    def made_again(self, earlier: CacheState) -> bool:
        """Whether this is another cache of the same name: what no cache changes in its life is different, as far as it is known."""
        fixed = (self.cache_id, self.mode, self.atomicity) != (earlier.cache_id, earlier.mode, earlier.atomicity)
        partitions = 0 not in (self.partitions, earlier.partitions) and self.partitions != earlier.partitions
        incarnation = "" not in (self.incarnation, earlier.incarnation) and self.incarnation != earlier.incarnation
        types = not set(earlier.types) <= set(self.types)  # each CREATE TABLE makes up a value type of its own
        return fixed or partitions or incarnation or types

    def changed_fields(self, earlier: CacheState) -> tuple[str, ...]:
        """What is different of what a living cache can change: its query entities, when its nodes start with
        other ones; `ALTER TABLE` shows in none that thin clients are given."""
        return tuple(name for name in ("types", "columns") if getattr(self, name) != getattr(earlier, name))

    def with_known(self, earlier: CacheState) -> CacheState:
        """This state; what it does not know of the same cache is taken from an earlier one."""
        return replace(self, partitions=self.partitions or earlier.partitions, incarnation=self.incarnation or earlier.incarnation)


State = Mapping[str, CacheState]


@dataclass(frozen=True)
class CacheDiff:
    """What is different from one look to the next; false when nothing is.

    A cache that was made again is in `destroyed` and in `created`. `id` is the same for the same step after the same steps.

    :param changed: cache to the names of its fields that changed.
    :param state: what the later look saw: the base of the next difference.
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
        """The same step with the changes of these kinds alone."""
        left_out: dict[str, Any] = {"created": (), "destroyed": (), "changed": {}}
        for kind in kinds:
            left_out.pop(kind, None)
        return replace(self, **left_out)

    @property
    def cache_whitelist(self) -> list[str]:
        """Patterns that match the caches created or changed and no other; one that matches nothing when there are none."""
        return [re.escape(name) for name in sorted({*self.created, *self.changed})] or [_NOTHING]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form: `id`, `created`, `destroyed`, `changed`, `cache_whitelist`, `state`."""
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
        changed = {name: tuple(fields) for name, fields in data["changed"].items()}
        return CacheDiff(data["id"], tuple(data["created"]), tuple(data["destroyed"]), changed, _states(data["state"]))


class CacheSource(Protocol):
    """A cluster as far as a look needs it: :class:`ignite_kafka.ignite.cluster.Cluster`."""

    def cache_names(self) -> list[str]: ...

    def cache(self, name: str) -> CacheInfo: ...

    def active(self) -> bool: ...


def look(cluster: CacheSource, lists: CacheLists) -> dict[str, CacheState]:
    """The chosen caches that the cluster has now; a cache that goes while it is looked at is not there.

    :raises IgniteUnreachable: no node answered, or the cluster is not active.
    """
    _check_active(cluster)
    found = {}
    for name in select(cluster.cache_names(), lists.whitelist, lists.blacklist, lists.backlog_cache_name):
        try:
            found[name] = CacheState.of(cluster.cache(name))
        except CacheNotFound:
            continue
    _check_active(cluster)  # while it was deactivated, caches may have looked as if they were gone
    return found


def _check_active(cluster: CacheSource) -> None:
    if not cluster.active():
        raise IgniteUnreachable("the cluster is not active", "Activate it")


def difference(before: State, after: State, previous: str = "") -> CacheDiff:
    """The step from one look to a later one.

    :param previous: id of the step before, so that a cache that comes and goes twice makes steps of different ids.
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
    """JSON-ready form of what a look saw, read back by :func:`state_of`."""
    return {name: state[name].to_dict() for name in sorted(state)}


def state_of(value: object) -> dict[str, CacheState] | None:
    """The state that a value holds: a state, a difference with its `state`, or either as JSON; None for none.

    An empty state says that no cache was there, so that each one counts as created.

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
    remedy = "Give the difference or the state that an earlier look returned, through the filter tojson where it is templated"
    raise SettingsError("known holds no state of caches", remedy, setting="known", value=str(value)[:100])


def _states(data: Mapping[str, Any]) -> dict[str, CacheState]:
    return {name: CacheState.from_dict(data[name]) for name in sorted(data)}


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]
