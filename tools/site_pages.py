"""Hook of MkDocs: which pages the site's search shows first, and which have room for wide tables. ``mkdocs.yml`` names it."""

from __future__ import annotations

from typing import Any

BOOSTS = {
    "recover.md": 10.0,
    "decisions/0": 0.001,
    "features.md": 0.01,
    "benchmarks.md": 0.01,
    "flaky.md": 0.01,
    "house.md": 0.01,
}
"""Factor of a page's rank by the beginning of its path. Who searches for an error needs the cure before the reasons of a decision."""
WIDE = ("settings.md", "options.md", "connect-keys.md")
"""Pages of wide tables, which are shown without the table of contents beside them."""


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Set what Material reads of a page: the factor, which is that of its sections, too, and the parts to hide. The text stays."""
    path = page.file.src_uri
    for beginning, boost in BOOSTS.items():
        if path.startswith(beginning):
            page.meta.setdefault("search", {})["boost"] = boost
    if path in WIDE:
        page.meta["hide"] = ["toc"]
    return markdown
