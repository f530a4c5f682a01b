"""Checks of key types in the cluster: their fields, the order of the fields, and the number of schemas."""

from __future__ import annotations

from ...errors import TypeClash
from ...ignite.types.model import BinaryType
from ...java.hash_code import java_hash


def has_expected_fields(held: BinaryType, expected: BinaryType) -> bool:
    """Return whether the cluster's key type has the expected schemas and exactly the expected fields and types."""
    expected_codes = {field.field_id: field.type_code for field in expected.fields}
    return (
        expected.schemas.keys() <= held.schemas.keys()
        and {field.field_id: field.type_code for field in held.fields} == expected_codes
    )


def declared_form(held: BinaryType, names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return a key type's declared fields in the order of the cluster's schema with exactly these fields.

    None if the cluster knows no such keys: then keys have all fields of the type, as with a Java class that has more
    fields than the query entity declares. A field that another program adds to the type later changes no key.
    """
    ids = {java_hash(name): name for name in names}
    alone = [number for number, schema in held.schemas.items() if ids and set(schema) == ids.keys()]
    return tuple(ids[field_id] for field_id in held.schemas[max(alone)]) if alone else None


def require_one_form(held: BinaryType) -> None:
    """Raise TypeClash if a key type has several schemas in the cluster, because a key is found under one of them only.

    Then two tasks have registered the type at the same moment, each with the fields of its own first records.

    Ignite executes registrations one after the other, so only the first task can read back its schema alone; a task
    that reads two schemas writes no key. The first task may have gone on, and the cluster does not show which it was.
    """
    if len(held.schemas) < 2:
        return
    names = {field.field_id: field.name for field in held.fields}
    forms = "; ".join(
        ", ".join(names.get(number, str(number)) for number in schema) for schema in sorted(held.schemas.values())
    )
    what = (
        f"The cluster holds {len(held.schemas)} forms of {held.name}, which makes keys ({forms}), and a key is found "
        "by one form only"
    )
    remedy = (
        "Sink into a new cache; name what makes its key in key_fields, or declare the key type, under a name that the "
        "cluster lacks."
    )
    raise TypeClash(what, remedy, key_type=held.name)
