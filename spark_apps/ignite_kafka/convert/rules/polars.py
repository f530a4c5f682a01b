"""Import of polars, limited to one thread, because Spark tasks already share the cores."""

from __future__ import annotations

import os

# Spark tasks already share the cores; polars reads this variable only when it is first imported
os.environ.setdefault("POLARS_MAX_THREADS", "1")
import polars as pl

__all__ = ["pl"]
