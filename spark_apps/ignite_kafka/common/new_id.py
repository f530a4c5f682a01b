"""Ids of runs and snapshots that nobody named."""

from __future__ import annotations

import time
import uuid


def new_id() -> str:
    """Return an id: the time in UTC, so that ids sort by it, and eight random hexadecimal digits."""
    return time.strftime("%Y%m%dT%H%M%SZ-", time.gmtime()) + uuid.uuid4().hex[:8]
