"""Hook of MkDocs: which pages the site's search shows first. ``mkdocs.yml`` names it."""

from __future__ import annotations

from typing import Any

BOOSTS = {"recover.md": 10.0, "decisions/0": 0.001, "features.md": 0.01, "benchmarks.md": 0.01, "flaky.md": 0.01}
"""Factor of a page's rank by the beginning of its path. Who searches for an error needs the cure before the reasons of a decision."""


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Set the factor of a page, which is that of its sections, too; the text stays."""
    for beginning, boost in BOOSTS.items():
        if page.file.src_uri.startswith(beginning):
            page.meta.setdefault("search", {})["boost"] = boost
    return markdown
