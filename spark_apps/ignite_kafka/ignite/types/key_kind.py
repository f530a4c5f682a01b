"""Kinds of keys: a key's kind is how Ignite marshalled it, which is needed to convert it back.

The bytes of a record's key may not show the kind.

=========================================================== ==========================================================
kind                                                        keys
=========================================================== ==========================================================
``(code,)``                                                 values of that type code
``(DECIMAL, scale)``                                        decimals of that scale
``(ENUM, type id)``, ``(BINARY_ENUM, type id)``             constants of that enum
``(TIMESTAMP, 0)``, ``(TIMESTAMP, 1)``                      timestamps of whole milliseconds, others
``(TIME, 0)``, ``(TIME, 1)``                                times within a UTC day, others
``(OBJECT, type id, schema id, flags)``                     objects of that schema, without the flags for the width of
                                                            offsets
``(OBJECT, type id, schema id, flags, index, *kind)``       that kind occurs in the field of that index in the schema
``(OBJECT,)``                                               objects that cannot be rebuilt
``(NULL,)``                                                 keys of any kind, sent before their kinds were noted
=========================================================== ==========================================================

Fields whose metadata names a type of ``EXACT`` (type_codes.py) are of that type: they have no kind of their own.
"""

from __future__ import annotations

KeyKind = tuple[int, ...]
"""See the table of this module. Offset records have kinds as lists of integers."""

LAYOUT = 4
"""Number of integers in the kind of an object; kinds of the object's fields are longer."""

OBJECT_KIND: KeyKind = (103,)  # the type codes of objects and of null, without numpy, which type_codes needs
UNKNOWN_KIND: KeyKind = (101,)
