"""Binary types that records need, found in the cluster or registered from the source's types topic."""

from __future__ import annotations

from .. import events
from ..convert.to_ignite import ClusterTypes
from ..errors import TypeClash, UnknownBinaryType
from ..ignite.cache_configuration import CacheConfiguration
from ..ignite.types.model import BinaryType, TypeUse
from ..ignite.types.type_table import code_name
from ..state.types_topic import TypesTopic


class TypesGrown(Exception):
    """Signal to repeat a conversion, because the source's types topic describes a type not read before."""


class RecordTypes:
    """Binary types of the cluster; missing ones are registered from the source's types topic.

    A type or form of a type that the cluster lacks is registered from the topic first.

    The topic and the cluster's types are read again at most once a batch, because the types of records are in the
    topic before the records are. For one thread.
    """

    def __init__(self, types: ClusterTypes, topic: TypesTopic) -> None:
        self._types = types
        self._topic = topic
        self._registered: dict[int, int] = {}
        self.new_batch()

    def new_batch(self) -> None:
        """Begin a batch: the types topic and the cluster's types may be read once more."""
        self._read = self._stale = False

    def forget_types(self) -> None:
        """Drop the remembered binary types, because a record uses a type's schema that is not among them."""
        if not self._stale:
            self._stale = True
            self._types.forget_types()

    def binary_type(self, type_id: int) -> BinaryType:
        """Return the metadata of a binary type, registered from the types topic if the cluster lacks it.

        :raises UnknownBinaryType: neither the cluster nor the topic has the type.
        :raises TypeClash: the cluster has the type in a form that contradicts the topic's.
        """
        if self._stale:
            self._register(type_id)
        try:
            return self._types.binary_type(type_id)
        except UnknownBinaryType as unknown:
            if self._register(type_id):
                return self._types.binary_type(type_id)
            name = self._topic.name
            what = f"{unknown.what}, and topic {name} has none either"
            remedy = (
                "Set types_topic to the types topic of the source, or register the type: put an object of it through "
                "any client"
            )
            raise UnknownBinaryType(what, remedy, type_id=type_id, types_topic=name) from unknown

    def register(self, kind: BinaryType, *, unless_known: bool = False) -> BinaryType:
        """Add a type's missing fields and schemas to the cluster.

        :raises TypesGrown: the types topic has the type in a form that was not read before.
        :raises TypeClash, WriteFailed: as :meth:`ClusterTypes.register`.
        """
        before = self._registered.get(kind.type_id, 0)
        self._register(kind.type_id)
        if self._registered.get(kind.type_id, 0) > before:
            raise TypesGrown(kind.name)
        return self._types.register(kind, unless_known=unless_known)

    def register_used(self, described: str) -> frozenset[TypeUse]:
        """Register all types that the source saw in a data topic's records, and return their uses.

        :param described: name of :func:`.described_name`.
        :raises TypeClash: the cluster has a type in a form that contradicts the topic's.
        """
        self._read_once()
        uses = self._topic.uses(described)
        for type_id in sorted({use.type_id for use in uses} - {0}):
            self._register(type_id)
        return uses

    def source_configuration(self, described: str) -> CacheConfiguration | None:
        """Return the configuration of the source's cache for a :func:`.described_name`; None if it is unknown."""
        self._read_once()
        return self._topic.cache(described)

    def _register(self, type_id: int) -> bool:
        """Register the new forms of a type in the types topic; return whether the topic has the type."""
        self._read_once()
        forms = self._topic.forms(type_id)
        for form in forms[self._registered.get(type_id, 0) :]:
            self._add(form)
        self._registered[type_id] = len(forms)
        return bool(forms)

    def _read_once(self) -> None:
        if not self._read:
            self._topic.read()
            self._read = True

    def _add(self, form: BinaryType) -> None:
        try:
            self._types.register(form)
        except TypeClash as clash:
            held = self._types.binary_type(form.type_id)
            what = (
                f"{clash.what}. The cluster holds {described(held)}; topic {self._topic.name} holds {described(form)}"
            )
            raise TypeClash(what, clash.remedy, **{**clash.where, "types_topic": self._topic.name}) from clash
        events.emit(events.TYPE_REGISTERED, type=form.name, topic=self._topic.name)


def described(kind: BinaryType) -> str:
    """Describe a binary type for an error message: name, fields or enum constants, affinity key field."""
    if kind.is_enum:
        constants = ", ".join(f"{name} = {ordinal}" for ordinal, name in sorted(kind.enum_values.items()))
        return f"{kind.name} as an enum ({constants})"
    fields = ", ".join(
        f"{field.name} {code_name(field.type_code)}" for field in sorted(kind.fields, key=lambda field: field.name)
    )
    return f"{kind.name} ({fields}{f'; affinity key field {kind.affinity_field}' if kind.affinity_field else ''})"
