"""Limits of one record and one schema, so that none can stall a Spark task.

A record beyond a limit is a bad record, so the error policy decides about it.

Time and memory of a conversion are linear in the bytes of its records; these limits bound the remaining cases.
`docs/delivery.md` lists them.
"""

from __future__ import annotations

MAX_DEPTH = 64
"""Maximum nesting of objects, collections, arrays and maps in one value.

Decoders and encoders call themselves for each level.
"""

MAX_FIELDS = 2_000
"""Maximum number of fields that records may add to a binary type; the cluster keeps them for ever."""

MAX_SCHEMA_FIELDS = 5_000
"""Maximum size of the schemas that records may add to a binary type: 1 per field and 10 per schema.

384 schemas of three fields reach the limit, or 166 of twenty. The cluster never forgets a schema. Keys do not count,
because their types get no fields."""

MAX_HEADER_DIGITS = 1_000
"""Maximum number of digits of a number in a header that converter `simple` reads.

Arithmetic on more digits is quadratic, and holds the interpreter.
"""

MAX_HEADER_DEPTH = 100
"""Maximum nesting of arrays and maps in a header that converter `simple` reads.

No cache stores deeper ones, so such a header is refused with or without this limit.
"""

MAX_SCHEMA_DEPTH = 100
"""Maximum nesting of a Connect, Avro or JSON schema, because readers of schemas call themselves for each level."""

MAX_SCHEMA_NODES = 10_000
"""Maximum number of types in a schema, with all references resolved; each of these types has a column.

References alone may double with
each line of a schema."""

MAX_CONDITION_LENGTH = 65_536
"""Maximum number of characters of each of the settings `where` and `select`.

Their parser takes 2 s for a megabyte, wherever settings are checked.
"""
