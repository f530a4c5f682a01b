"""Names of Java classes that Ignite registers itself, by type id.

The cluster has no metadata for these classes.
"""

from __future__ import annotations

from ...java.hash_code import java_hash
from ..types import type_codes as codes
from ..types.model import BinaryField, BinaryType, TypeSource

_BY_CODE = {
    codes.OBJECT: "java.lang.Object", codes.BYTE: "java.lang.Byte", codes.BOOL: "java.lang.Boolean",
    codes.SHORT: "java.lang.Short",
    codes.CHAR: "java.lang.Character", codes.INT: "java.lang.Integer", codes.LONG: "java.lang.Long",
    codes.FLOAT: "java.lang.Float",
    codes.DOUBLE: "java.lang.Double", codes.STRING: "java.lang.String", codes.DECIMAL: "java.math.BigDecimal",
    codes.DATE: "java.util.Date", codes.TIMESTAMP: "java.sql.Timestamp", codes.TIME: "java.sql.Time",
    codes.UUID: "java.util.UUID",
    codes.BYTE_ARRAY: "[B", codes.SHORT_ARRAY: "[S", codes.INT_ARRAY: "[I", codes.LONG_ARRAY: "[J",
    codes.FLOAT_ARRAY: "[F",
    codes.DOUBLE_ARRAY: "[D", codes.CHAR_ARRAY: "[C", codes.BOOL_ARRAY: "[Z",
    codes.DECIMAL_ARRAY: "[Ljava.math.BigDecimal;",
    codes.STRING_ARRAY: "[Ljava.lang.String;", codes.UUID_ARRAY: "[Ljava.util.UUID;",
    codes.DATE_ARRAY: "[Ljava.util.Date;",
    codes.TIMESTAMP_ARRAY: "[Ljava.sql.Timestamp;", codes.TIME_ARRAY: "[Ljava.sql.Time;",
    codes.OBJECT_ARRAY: "[Ljava.lang.Object;",
}  # fmt: skip


_COLLECTIONS = ("ArrayList", "LinkedList", "HashSet", "LinkedHashSet", "HashMap", "LinkedHashMap")
_PRIMITIVES = ("byte", "short", "int", "long", "float", "double", "char", "boolean", "void")
_NAMES = (
    _BY_CODE
    | {java_hash(name.lower()): f"java.util.{name}" for name in _COLLECTIONS}
    | {java_hash(name): name for name in (*_PRIMITIVES, *_BY_CODE.values())}  # as the optimized marshaller names them
)

TREE_MAP = java_hash("binarytreemap")
TREE_SET = java_hash("org.apache.ignite.internal.binary.binarytreeset")
"""Type ids under which Ignite writes java.util.TreeMap and TreeSet.

Objects with raw data: comparator, int32 size, values.
"""

_AFFINITY_KEY = BinaryType(
    java_hash("affinitykey"),
    "org.apache.ignite.cache.affinity.AffinityKey",
    "affKey",
    tuple(BinaryField(name, codes.OBJECT, java_hash(name.lower())) for name in ("key", "affKey")),
)
SYSTEM_TYPES = frozenset({TREE_MAP, TREE_SET, _AFFINITY_KEY.type_id})
"""Types that are part of Ignite itself: the cluster holds no metadata of them, and needs none.

Of TREE_SET it needs the class name.
"""


def class_name(types: TypeSource, type_id: int) -> str:
    """Return the class name of a type id, from this module or the cluster; UnknownBinaryType if there is none."""
    return _NAMES.get(type_id) or types.binary_type(type_id).name


def metadata(types: TypeSource, type_id: int) -> BinaryType:
    """Return the metadata of an object's type, from the cluster or, for AffinityKey, from this module."""
    return _AFFINITY_KEY if type_id == _AFFINITY_KEY.type_id else types.binary_type(type_id)


def refreshed(types: TypeSource, type_id: int) -> BinaryType:
    """Read the metadata of a type again, because the type may have got new fields."""
    forget = getattr(types, "forget_types", None)
    if forget is not None:
        forget()
    return metadata(types, type_id)


def type_name(types: TypeSource, type_id: int) -> str:
    """Return the type name that decoded columns show; TreeMap and TreeSet get their Java names."""
    trees = {TREE_MAP: "java.util.TreeMap", TREE_SET: "java.util.TreeSet"}
    return trees.get(type_id) or metadata(types, type_id).name
