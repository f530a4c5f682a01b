"""Command that writes the generated pages into docs/."""

from __future__ import annotations

from pathlib import Path

from . import PAGES

for name, page in PAGES.items():
    (Path(__file__).parents[2] / "docs" / name).write_text(page())
