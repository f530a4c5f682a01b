"""Entries whose keys are numbers, decimals, enums, UUIDs, or objects within objects, and how readers of their records show them.

A key is of a kind, and has a number; a value has a number and a turn. :meth:`TypedCaches.put` remembers every state of a key.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

from pyignite import GenericObjectMeta
from pyignite.datatypes import BinaryObject, DecimalObject, EnumObject, IntObject, LongObject, String, UUIDObject
from pyignite.utils import entity_id

from ignite_kafka.ignite.cluster import Cluster
from ignite_kafka.ignite.endpoint import IgniteEndpoint
from ignite_kafka.ignite.schema import register_type
from ignite_kafka.ignite.types.model import BinaryType
from tools.servers import IgniteCluster

ORDERS, DECIMALS, ENUMS, UUIDS, LONGS, INTEGERS = "orders", "decimals", "enums", "uuids", "longs", "integers"
MOST = 60  # keys of a kind: constants of the enum
_HINTS: dict[str, Any] = {
    ORDERS: BinaryObject, DECIMALS: DecimalObject, ENUMS: EnumObject, UUIDS: UUIDObject, LONGS: LongObject, INTEGERS: IntObject,
}  # fmt: skip


class TypedCaches:
    """Caches of a test, one for each kind of keys, and what their topics must show.

    :param stem: begins the names of caches, and ends those of binary types.
    """

    def __init__(self, ignite: IgniteCluster, stem: str, kinds: Iterable[str]) -> None:
        self.ignite, self.stem, self.kinds = ignite, stem, tuple(kinds)
        self.states: dict[str, dict[int, list[Any]]] = {kind: defaultdict(list) for kind in self.kinds}
        fields = {"symbol": String, "price": DecimalObject, "turn": LongObject}
        self._place: Any = GenericObjectMeta(f"Place{stem}", (), {}, schema={"x": IntObject, "label": String})
        nested = {"id": LongObject, "price": DecimalObject, "color": EnumObject, "place": BinaryObject}
        self._order: Any = GenericObjectMeta(f"Order{stem}", (), {}, schema=nested)
        self._trade: Any = GenericObjectMeta(self.value_type, (), {}, schema=fields)
        self._grown: Any = GenericObjectMeta(self.value_type, (), {}, schema={**fields, "note": String})
        self._enum = entity_id(f"Color{stem}")
        constants = {number: f"C{number}" for number in range(MOST)}
        with Cluster(IgniteEndpoint(ignite.addresses)) as cluster:  # pyignite 0.6 fails to register an enum
            register_type(cluster, BinaryType(self._enum, f"Color{stem}", is_enum=True, enum_values=constants))
        with ignite.client() as client:
            for one in (self._place, self._order):  # what is written with a hint is not registered
                client.register_binary_type(one)
            for kind in self.kinds:
                client.get_or_create_cache(self.name(kind))

    @property
    def value_type(self) -> str:
        return f"Trade{self.stem}"

    def name(self, kind: str) -> str:
        return f"{self.stem}-{kind}"

    def put(self, numbers: Iterable[int], turn: int, *, note: str | None = None) -> None:
        """Put these keys of each kind, in their order; a note makes values of the type with one more field."""
        with self._caches() as caches:
            for kind, cache in caches.items():
                for number in numbers:
                    fields = self._value(number, turn)
                    cache.put(
                        self.key(kind, number), self._trade(**fields) if note is None else self._grown(**fields, note=note), _HINTS[kind]
                    )
                    self.states[kind][number].append(fields if note is None else {**fields, "note": note})

    def remove(self, numbers: Iterable[int]) -> None:
        with self._caches() as caches:
            for kind, cache in caches.items():
                for number in numbers:
                    assert cache.remove_key(self.key(kind, number), _HINTS[kind]), f"{kind} {number}"
                    self.states[kind][number].append(None)

    def clear(self) -> None:
        """Remove all entries; that fires no event."""
        with self._caches() as caches:
            for kind, cache in caches.items():
                cache.clear()
                for states in self.states[kind].values():
                    states += [None] if states[-1] else []

    @contextmanager
    def _caches(self) -> Iterator[dict[str, Any]]:
        with self.ignite.client() as client:
            yield {kind: client.get_cache(self.name(kind)) for kind in self.kinds}

    def last(self, kind: str) -> dict[int, Any]:
        """Number of each key that is in the cache, to its value."""
        return {number: states[-1] for number, states in self.states[kind].items() if states[-1]}

    def key(self, kind: str, number: int) -> Any:
        """The key as pyignite takes it."""
        constant = self._enum, number
        if kind == ORDERS:
            place = self._place(number, f"p{number}" if number % 2 else None)
            return self._order(number, _decimal(number), constant, place)
        return {DECIMALS: _decimal(number), ENUMS: constant, UUIDS: _uuid(number), **_whole(number)}[kind]

    def shown_key(self, kind: str, number: int) -> Any:
        """The key as a reader shows it."""
        if kind == ORDERS:
            place = {"x": number, "label": f"p{number}" if number % 2 else None}
            return {"id": number, "price": _decimal(number), "color": f"C{number}", "place": place}
        return {DECIMALS: _decimal(number), ENUMS: f"C{number}", UUIDS: str(_uuid(number)), **_whole(number)}[kind]

    @staticmethod
    def _value(number: int, turn: int) -> dict[str, Any]:
        return {"symbol": None if number % 3 == 0 else f"é {number}", "price": number + Decimal("0.25"), "turn": turn}


def without_nulls(value: Any) -> Any:
    """The value without fields that are null."""
    return {name: without_nulls(one) for name, one in value.items() if one is not None} if isinstance(value, dict) else value


def _decimal(number: int) -> Decimal:
    """Decimals of scale 1 and 2."""
    return Decimal(2 * number + 1) / (4 if number % 2 else 2)


def _whole(number: int) -> dict[str, int]:
    """Whole numbers of both signs, of the kinds that have such keys."""
    return {LONGS: (number - 20) << 40, INTEGERS: (number - 20) << 20}


def _uuid(number: int) -> uuid.UUID:
    return uuid.UUID(int=number << 70 | number)
