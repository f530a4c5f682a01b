"""Limits of one record and of one schema, so that neither stalls a task.

A record beyond a limit is bad: the error policy decides.

Time and memory of a conversion are linear in the bytes of its records; these limits bound what is not.
`docs/delivery.md` lists them.
"""

from __future__ import annotations

MAX_DEPTH = 64
"""Levels of objects, collections, arrays and maps in one value.

Decoders and encoders call themselves for each level.
"""

MAX_FIELDS = 2_000
"""Fields that records may give a binary type: the cluster never forgets one, and each batch has a column for each."""

MAX_SCHEMA_FIELDS = 5_000
"""Fields, and 10 more for each schema, in the schemas of a binary type that records give it.

384 schemas of three fields, 166 of twenty.
The cluster never forgets one. It is not reached by a key, whose type gets no field."""

MAX_HEADER_DIGITS = 1_000
"""Digits of a number in a header that converter `simple` reads.

Arithmetic on more digits is quadratic, and holds the interpreter.
"""

MAX_HEADER_DEPTH = 100
"""Levels of arrays and maps in a header that converter `simple` reads.

No cache stores one: the header is refused either way.
"""

MAX_SCHEMA_DEPTH = 100
"""Levels of a Connect, Avro or JSON schema. Readers of schemas call themselves for each level."""

MAX_SCHEMA_NODES = 10_000
"""Types of a schema after each reference is replaced by what it refers to: each node has a column.

References alone may double with
each line of a schema."""

MAX_CONDITION_LENGTH = 65_536
"""Characters of each of the settings `where` and `select`.

Their parser takes 2 s for a megabyte, wherever settings are checked.
"""
