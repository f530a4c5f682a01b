"""Lookup of binary type names, which Ignite identifies by a hash."""

from __future__ import annotations

from ...errors import UnknownBinaryType
from ...ignite.types.model import TypeSource
from ...java.hash_code import java_hash


class TypeNames:
    """Lookup of binary types by name, to find two names with one type id. Threads must not share it."""

    def __init__(self, types: TypeSource) -> None:
        self._types = types
        self._by_id: dict[int, str] = {}

    def is_known(self, type_name: str) -> bool:
        """Return whether the cluster has a binary type of this name."""
        return self._held(type_name) is not None

    def other(self, type_name: str) -> str | None:
        """Return another type's name with the same type id, from the cluster or an earlier record; None without one."""
        type_id = java_hash(type_name.lower())
        if type_id not in self._by_id:
            self._by_id[type_id] = self._held(type_name) or type_name
        return self._by_id[type_id] if self._by_id[type_id] != type_name else None

    def _held(self, type_name: str) -> str | None:
        try:
            return self._types.binary_type(java_hash(type_name.lower())).name
        except UnknownBinaryType:
            return None
