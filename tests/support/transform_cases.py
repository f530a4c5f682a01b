"""Random records and configurations of Kafka Connect's transforms, made so that the configurations often fit the records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from ignite_kafka.convert.connect import ConnectField, ConnectSchema, ConnectType
from tests.support.connect_data import schemas, values
from tests.support.connect_transforms import Records

NAMES = ("a", "b", "c", "d.e", "f")
_FIELD = st.sampled_from((*NAMES, "missing"))
_FIELDS = st.lists(_FIELD, min_size=1, max_size=3).map(",".join)
_FLAG = st.sampled_from(("true", "false"))
_TYPES = st.sampled_from(("int8", "INT16", "int32", "int64", "float32", "float64", "boolean", "string"))
_TEXTS = st.sampled_from(
    ("", " 12", "-7", "+300", "1.5", "1e3", "1f", "0x1p3", "NaN", "-Infinity", "true", "TRUE", "9" * 19, "1" * 40, "٣", "x")
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5) | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
_MAPS = st.dictionaries(st.sampled_from(NAMES), _JSON, max_size=5)
FLAT_MAPS = st.dictionaries(
    st.sampled_from((*NAMES, '"\\', "é")),
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5) | _TEXTS,
    max_size=5,
)  # fmt: skip
"""Objects without nested lists or objects, like most records without a schema."""


@st.composite
def structs(draw: st.DrawFn) -> ConnectSchema:
    """A struct whose fields have known names, and sometimes structs within."""
    names = draw(st.lists(st.sampled_from(NAMES), max_size=4, unique=True))
    inner = schemas(leaves=2) | st.just(ConnectSchema(ConnectType.STRING, optional=True))
    if draw(st.booleans()):
        inner = inner | structs()
    fields = tuple(ConnectField(name, draw(inner)) for name in names)
    name, version = draw(st.none() | st.just("Name")), draw(st.none() | st.just(3))
    return ConnectSchema(ConnectType.STRUCT, draw(st.booleans()), name, version, draw(st.none() | st.just("doc")), fields=fields)


def _values(schema: ConnectSchema) -> st.SearchStrategy[Any]:
    """Values, with texts that look like numbers."""
    if schema.type is ConnectType.STRING:
        return values(schema) | _TEXTS
    if schema.type is ConnectType.STRUCT:
        made = st.tuples(*(_values(field.schema) for field in schema.fields))
        return st.none() | made if schema.optional else made
    return values(schema)


@st.composite
def sides(draw: st.DrawFn, count: int, nulls: bool = True) -> tuple[ConnectSchema | None, Sequence[Any]]:
    """A schema, or none, and as many values.

    :param nulls: whether a value may be null whatever its schema says.
    """
    schema = draw(st.none() | structs() | structs() | schemas(leaves=3))
    one = draw(st.sampled_from((_MAPS | _MAPS | _JSON, FLAT_MAPS))) if schema is None else _values(schema)
    return schema, draw(st.lists(st.none() | one | one if nulls else one, min_size=count, max_size=count))


@st.composite
def records(draw: st.DrawFn) -> Records:
    """Records with headers."""
    count = draw(st.integers(1, 6))
    key_schema, keys = draw(sides(count))
    value_schema, found = draw(sides(count))
    names = draw(st.lists(st.sampled_from(("h", "g")), max_size=2))
    headers = [(name, *draw(sides(count, nulls=False))) for name in names]
    topics = draw(st.lists(st.sampled_from(("a", "abc", "a-1", "other")), min_size=1, max_size=3))
    times = draw(st.lists(st.none() | st.integers(0, 4_102_444_800_000), min_size=1, max_size=3))
    return Records(key_schema, keys, value_schema, found, topics, times, headers, draw(st.booleans()))


def _properties(required: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> st.SearchStrategy[dict[str, str]]:
    return st.fixed_dictionaries(dict(required), optional=dict(optional or {}))


_DEFAULT = {"replace.null.with.default": _FLAG}
_RENAMES = st.lists(st.tuples(_FIELD, st.sampled_from((*NAMES, "x"))).map(":".join), min_size=1, max_size=3).map(",".join)
_CASTS = st.lists(st.tuples(_FIELD, _TYPES).map(":".join), min_size=1, max_size=4).map(",".join)
_INSERTED = st.sampled_from(("x", "y!", "z?", "a"))
_FORMATS = st.sampled_from(("yyyy-MM-dd", "yyyyMMddHHmmssSSS", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "EEE, d MMM yyyy hh:mm a z"))
SIDED: dict[str, st.SearchStrategy[dict[str, str]]] = {
    "Cast": _properties({"spec": _CASTS | _TYPES}, _DEFAULT),
    "ExtractField": _properties({"field": _FIELD | st.just("a.b")}, _DEFAULT | {"field.syntax.version": st.sampled_from(("V1", "V2"))}),
    "Flatten": _properties({}, {"delimiter": st.sampled_from(("_", "", "."))}),
    "HeaderFrom": _properties(
        {"fields": _FIELD, "headers": st.sampled_from(("h", "x")), "operation": st.sampled_from(("move", "copy"))}, _DEFAULT
    ),
    "HoistField": _properties({"field": _FIELD}),
    "InsertField": _properties(
        {"static.field": _INSERTED, "static.value": _TEXTS},
        {"topic.field": st.just("t!"), "partition.field": st.just("p"), "timestamp.field": st.sampled_from(("ts", "ts!"))} | _DEFAULT,
    ),
    "MaskField": _properties({"fields": _FIELDS}, _DEFAULT | {"replacement": _TEXTS.filter(str.strip)}),
    "ReplaceField": _properties({}, {"exclude": _FIELDS, "include": _FIELDS, "renames": _RENAMES} | _DEFAULT),
    "SetSchemaMetadata": _properties({"schema.name": st.sampled_from(("N", "Name"))}, {"schema.version": st.just("7")} | _DEFAULT),
    "TimestampConverter": _properties(
        {"target.type": st.sampled_from(("string", "unix", "Date", "Time", "Timestamp")), "format": _FORMATS},
        {"field": _FIELD, "unix.precision": st.sampled_from(("seconds", "milliseconds", "microseconds", "nanoseconds"))} | _DEFAULT,
    ),
}  # fmt: skip
WHOLE: dict[str, st.SearchStrategy[dict[str, str]]] = {
    "DropHeaders": _properties({"headers": st.sampled_from(("h", "g,h", "x"))}),
    "Filter": st.just({}),
    "InsertHeader": _properties({"header": st.sampled_from(("h", "x")), "value.literal": _TEXTS}),
    "RegexRouter": _properties({
        "regex": st.sampled_from(("(a)(.*)", "(?<x>a+)(-1)?", "(x)y*(z)")), "replacement": st.sampled_from(("t-$0", "$2-$1", "new")),
    }),
    "TimestampRouter": _properties({}, {"topic.format": st.sampled_from(("${topic}", "x${timestamp}")), "timestamp.format": _FORMATS}),
    "ValueToKey": _properties({"fields": _FIELDS}, _DEFAULT),
    "predicates.HasHeaderKey": _properties({"name": st.sampled_from(("h", "g", "x"))}),
    "predicates.RecordIsTombstone": st.just({}),
    "predicates.TopicNameMatches": _properties({"pattern": st.sampled_from(("a.*", "abc", "[^a]+"))}),
}  # fmt: skip
CONFIGURATIONS = {f"{name}${side}": one for name, one in SIDED.items() for side in ("Key", "Value")} | WHOLE
"""A strategy of properties for each class."""
