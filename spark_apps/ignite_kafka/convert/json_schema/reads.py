"""Whether a registered JSON Schema reads the documents of another one.

The part of JSON Schema that Connect's schemas use.
"""

from __future__ import annotations

from typing import Any


def refused_at(theirs: Any, ours: Any, path: str = "") -> str:
    """The first place where `theirs` refuses a document of `ours`, and why; empty without one.

    :param theirs: the registered schema. A keyword that Connect's schemas do not use is not looked at.
    :param ours: a schema that :func:`~.schema_from_connect.json_schema_text` made.
    """
    where = path or "the whole document"
    nullable, theirs = _without_null(theirs)
    may_be_null, ours = _without_null(ours)
    if may_be_null and not nullable:
        return f"{where} may be null"
    expected = theirs.get("type")
    given = ours.get("type")
    if ("enum" in theirs and not set(ours.get("enum", ()))) or set(ours.get("enum", ())) - set(
        theirs.get("enum", ours.get("enum", ()))
    ):
        return f"{where} may have a value that its enum has not"
    if expected not in (None, given) and (expected, given) != ("number", "integer"):
        return f"{where} is {given}, not {expected}"
    return _members(theirs, ours, path) if given == "object" else _items(theirs, ours, path)


def _members(theirs: dict[str, Any], ours: dict[str, Any], path: str) -> str:
    known = theirs.get("properties", {})
    given = ours.get("properties", {})
    for name in theirs.get("required", ()):
        if name not in given:
            return f"{path}.{name} is required".lstrip(".")
    others = theirs.get("additionalProperties", True)
    for name, one in given.items():
        here = f"{path}.{name}".lstrip(".")
        if name not in known and others is False:
            return f"{here} is not allowed"
        if found := refused_at(known.get(name, others if isinstance(others, dict) else {}), one, here):
            return found
    values = ours.get("additionalProperties")
    return refused_at(others, values, f"{path}{{}}") if isinstance(values, dict) and isinstance(others, dict) else ""


def _items(theirs: dict[str, Any], ours: dict[str, Any], path: str) -> str:
    if isinstance(theirs.get("items"), dict) and "items" in ours:
        return refused_at(theirs["items"], ours["items"], f"{path}[]")
    return ""


def _without_null(schema: Any) -> tuple[bool, dict[str, Any]]:
    """Whether null is allowed, and the schema of other values."""
    if not isinstance(schema, dict) or not schema:  # true, or an object without keywords: anything
        return schema is not False, {}
    kinds = schema.get("type")
    if isinstance(kinds, list):
        rest = [kind for kind in kinds if kind != "null"]
        return "null" in kinds, {**schema, "type": rest[0] if len(rest) == 1 else None}
    choices = schema.get("oneOf", schema.get("anyOf"))
    if choices is None:
        return kinds == "null", schema
    rest = [one for one in choices if one != {"type": "null"}]
    return len(rest) < len(choices), rest[0] if len(rest) == 1 else {}
