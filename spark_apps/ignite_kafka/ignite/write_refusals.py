"""Translation of a node's refusal of a write request into an error with a remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..common.redaction import in_message
from ..errors import CacheDestroyed, EntriesRefused, IgniteKafkaError, IgniteUnreachable, WriteFailed
from . import protocol
from .protocol import ThinError

_UPDATE_FAILED = "retry update if possible"
_MAY_PASS = (_UPDATE_FAILED, "retry transaction", "topology")
_MAY_PASS_REMEDY = (
    "Check the cluster's nodes: their logs say whether one has left, or the cache's data region is out of memory"
)
_OF_A_COLUMN = re.compile(r"for (a )?column '")
"""Message of a node for a value that a column does not accept.

Too long, out of range, null, of another type (QueryTypeDescriptorImpl).
The node then has stored no entry of the request."""
_NO_ORDER = "has no whole number, date or timestamp in field '"
"""Message of a node that reads no number for `order_field` in a value (`FieldOrder` in backlog-service/).

The node then has stored no entry of the request."""
_CAUSES = {
    "read-only": "Activate the cluster for writing (control.sh --set-state ACTIVE)",
    "inactive": "Activate the cluster (control.sh --set-state ACTIVE)",
    "Out of memory": "Make the cache's data region larger, or let it evict or persist",
}
_NO_CACHE = "BACKLOG/UNKNOWN_CACHE: "  # of the service's `write`
_FORBIDDEN = "BACKLOG/FORBIDDEN: "
_SERVICE_MAY_RETURN = ("BACKLOG/UNAVAILABLE: ", "Failed to find deployed service", "Service not found")


def refusal(error: ThinError, place: Mapping[str, Any]) -> IgniteKafkaError:
    """Translate a node's refusal of a put, removal or fenced write.

    :param place: cache, node and address, for the message.
    """
    if error.status == protocol.CACHE_DOES_NOT_EXIST or _NO_CACHE in error.message:
        return CacheDestroyed(
            "a cache went away while entries were put into it", "Make it again, or stop writing to it", **place
        )
    what = f"Ignite did not take entries of a cache: {in_message(_strip_keys(error.message))}"
    if any(cause in error.message for cause in _SERVICE_MAY_RETURN):
        return IgniteUnreachable(what, "The nodes' logs say more", **place)
    if error.status == protocol.SECURITY_VIOLATION or _FORBIDDEN in error.message:
        return WriteFailed(what, "Give the user the right to put and remove entries of the cache", **place)
    if _OF_A_COLUMN.search(error.message):
        return EntriesRefused(what, "Correct the value, or the column in the cache's query entity", **place)
    if _NO_ORDER in error.message:
        remedy = (
            "Spell order_field as the value's type does: the nodes' mapper of names may regard upper and lower case"
        )
        return EntriesRefused(what, remedy, **place)
    for cause, remedy in _CAUSES.items():
        if cause.lower() in error.message.lower():
            return WriteFailed(what, remedy, **place)
    if any(cause in error.message.lower() for cause in _MAY_PASS):
        return IgniteUnreachable(what, _MAY_PASS_REMEDY, **place)
    return WriteFailed(what, "The node's log says more", **place)


def _strip_keys(message: str) -> str:
    """Cut the list of keys from a node's message about a failed update, so that the error shows no keys."""
    head, separator, _ = message.partition(_UPDATE_FAILED)
    return f"{head}{separator})" if separator else message
