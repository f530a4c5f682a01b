"""Binary types as the cluster holds them: the order of their fields, and whether keys can be written by them."""

from __future__ import annotations

from ...errors import TypeClash
from ...ignite.types.model import BinaryType
from ...java.hash_code import java_hash


def alike(held: BinaryType, expected: BinaryType) -> bool:
    """Return whether the cluster holds a key type as expected: the same schema, no more fields, equal field types."""
    expected_codes = {field.field_id: field.type_code for field in expected.fields}
    return (
        expected.schemas.keys() <= held.schemas.keys()
        and {field.field_id: field.type_code for field in held.fields} == expected_codes
    )


def declared_form(held: BinaryType, names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the declared names of a key type's fields, in lower case, in the order of keys with just these fields.

    None if the cluster knows no such keys: then keys have all fields of the type, as those of a Java class have that
    has more fields than columns. A field that another program gives the type later changes no key.
    """
    ids = {java_hash(name): name for name in names}
    alone = [number for number, schema in held.schemas.items() if ids and set(schema) == ids.keys()]
    return tuple(ids[field_id] for field_id in held.schemas[max(alone)]) if alone else None


def require_one_form(held: BinaryType) -> None:
    """Raise TypeClash where a type of keys has several.

    Two tasks have registered it at one moment, each as its first records had it.

    Ignite puts registrations one after the other, so only the first of them can read its schema back alone: whoever
    reads two writes no key. That one may have gone on, though, and nobody reads from the cluster which one it was.
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
