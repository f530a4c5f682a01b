"""Command that writes the generated pages into docs/ of its own checkout."""

from __future__ import annotations

import sys
from pathlib import Path

import ignite_kafka

from . import PAGES

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "spark_apps"
imported = Path(ignite_kafka.__file__).resolve().parents[1]
if imported != SOURCE:
    # the environment may have another checkout installed: the pages would describe its settings and events
    sys.exit(f"ignite_kafka is imported from {imported}, not from {SOURCE}: set PYTHONPATH={ROOT}:{SOURCE}")
for name, page in PAGES.items():
    (ROOT / "docs" / name).write_text(page())
