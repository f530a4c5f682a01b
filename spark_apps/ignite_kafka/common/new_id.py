"""Ids of runs and snapshots that nobody named."""

from __future__ import annotations

import time
import uuid


def new_id() -> str:
    """The time in UTC and eight random hexadecimal digits: ids sort by time, and two of one second differ."""
    return time.strftime("%Y%m%dT%H%M%SZ-", time.gmtime()) + uuid.uuid4().hex[:8]
