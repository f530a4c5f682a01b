"""Ids for runs and snapshots without a name from the user."""

from __future__ import annotations

import time
import uuid


def new_id() -> str:
    """Return a new id that sorts by time: UTC time and eight random hexadecimal digits."""
    return time.strftime("%Y%m%dT%H%M%SZ-", time.gmtime()) + uuid.uuid4().hex[:8]
