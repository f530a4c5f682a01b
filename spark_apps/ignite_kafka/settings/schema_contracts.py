"""Contracts of a sink with its SQL tables, about fields of records without a column."""

from __future__ import annotations

from .base import setting
from .fields import choice

STORE = "store"
EVOLVE = "evolve"
FREEZE = "freeze"
DISCARD_FIELD = "discard_field"
DEAD_LETTER_RECORD = "dead_letter"
CONTRACTS = (STORE, EVOLVE, FREEZE, DISCARD_FIELD, DEAD_LETTER_RECORD)
CLOSED = frozenset({FREEZE, DISCARD_FIELD, DEAD_LETTER_RECORD})
"""Contracts under which a value has no field without a column."""

SCHEMA_CONTRACT = setting(
    STORE, choice(*CONTRACTS),
    "Treatment of a record's field that the SQL table of its cache has no column for. store: store it, invisible to "
    "SQL; evolve: add the column by ALTER TABLE ADD COLUMN, then store it; freeze: stop the run; discard_field: store "
    "the record without the field; dead_letter: send the record to dead_letter_topic. Caches without a SQL table take "
    "every field",
    overridable=True,
)  # fmt: skip
