"""Settings of a sink about several topics whose records go to one cache."""

from __future__ import annotations

from .base import setting
from .fields import LINE, choice

REFUSE = "refuse"
DISJOINT_KEYS = "disjoint_keys"

SHARED_CACHES = setting(
    REFUSE, choice(REFUSE, DISJOINT_KEYS),
    "Treatment of topics whose names lead to one cache. refuse: the run does not start, because the records of a key "
    "have an order within one partition of one topic only; disjoint_keys: store them, on your word that no key is in "
    "two of the topics. Topics with key_policy kafka always may share a cache: their keys hold the topic",
)  # fmt: skip

ORDER_FIELD = setting(
    "", LINE,
    "Field of values that orders the records of a key: the value with the greatest field remains in the cache, in "
    "whatever topics and partitions the records are, and topics may share the cache. Nodes compare the field, so "
    "delivery must be strict. Whole numbers, dates and timestamps; removals are bad records. Empty: the last record "
    "stored remains",
)  # fmt: skip
