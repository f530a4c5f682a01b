"""Check that a registered JSON Schema accepts every document of the schema to be written.

It covers the part of JSON Schema that Connect's schemas use.
"""

from __future__ import annotations

from typing import Any


def find_refusal(theirs: Any, ours: Any, path: str = "") -> str:
    """Return the first place where schema `theirs` refuses a document of schema `ours`, with the reason; empty if none.

    :param theirs: the registered schema; keywords that Connect's schemas do not use are ignored.
    :param ours: a schema made by :func:`~.schema_from_connect.json_schema_text`.
    """
    where = path or "the whole document"
    nullable, theirs = _without_null(theirs)
    may_be_null, ours = _without_null(ours)
    if may_be_null and not nullable:
        return f"{where} may be null"
    expected = theirs.get("type")
    own_type = ours.get("type")
    if ("enum" in theirs and not set(ours.get("enum", ()))) or set(ours.get("enum", ())) - set(
        theirs.get("enum", ours.get("enum", ()))
    ):
        return f"{where} may have a value that its enum has not"
    if expected not in (None, own_type) and (expected, own_type) != ("number", "integer"):
        return f"{where} is {own_type}, not {expected}"
    return _members(theirs, ours, path) if own_type == "object" else _items(theirs, ours, path)


def _members(theirs: dict[str, Any], ours: dict[str, Any], path: str) -> str:
    their_properties = theirs.get("properties", {})
    our_properties = ours.get("properties", {})
    for name in theirs.get("required", ()):
        if name not in our_properties:
            return f"{path}.{name} is required".lstrip(".")
    others = theirs.get("additionalProperties", True)
    for name, own_property in our_properties.items():
        here = f"{path}.{name}".lstrip(".")
        if name not in their_properties and others is False:
            return f"{here} is not allowed"
        if reason := find_refusal(
            their_properties.get(name, others if isinstance(others, dict) else {}), own_property, here
        ):
            return reason
    values = ours.get("additionalProperties")
    return find_refusal(others, values, f"{path}{{}}") if isinstance(values, dict) and isinstance(others, dict) else ""


def _items(theirs: dict[str, Any], ours: dict[str, Any], path: str) -> str:
    if isinstance(theirs.get("items"), dict) and "items" in ours:
        return find_refusal(theirs["items"], ours["items"], f"{path}[]")
    return ""


def _without_null(schema: Any) -> tuple[bool, dict[str, Any]]:
    """Return whether a JSON Schema allows null, and the schema of values other than null."""
    if not isinstance(schema, dict) or not schema:  # true, or an object without keywords, allows any value
        return schema is not False, {}
    kinds = schema.get("type")
    if isinstance(kinds, list):
        rest = [kind for kind in kinds if kind != "null"]
        return "null" in kinds, {**schema, "type": rest[0] if len(rest) == 1 else None}
    choices = schema.get("oneOf", schema.get("anyOf"))
    if choices is None:
        return kinds == "null", schema
    rest = [choice for choice in choices if choice != {"type": "null"}]
    return len(rest) < len(choices), rest[0] if len(rest) == 1 else {}
