"""Which pages the site's search shows first and which are wide; the site itself is in tests/integration/tools/test_site.py."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tools.site_pages import BOOSTS, WIDE, on_page_markdown

DOCS = Path(__file__).parents[3] / "docs"


def meta_of(path: str) -> dict[str, Any]:
    page: Any = SimpleNamespace(file=SimpleNamespace(src_uri=path), meta={"title": "t"})
    assert on_page_markdown("text", page=page, config=None, files=None) == "text"
    assert page.meta.pop("title") == "t"
    return dict(page.meta)


def boost_of(path: str) -> float:
    return float(meta_of(path).get("search", {}).get("boost", 1.0))


def test_cures_come_before_the_rest_and_decisions_last() -> None:
    decisions = {boost_of(f"decisions/{path.name}") for path in (DOCS / "decisions").glob("0*.md")}
    assert len(decisions) == 1
    assert boost_of("recover.md") > boost_of("operations.md") == boost_of("decisions/README.md") == 1.0 > max(decisions)


def test_tables_of_settings_have_the_room_of_the_contents() -> None:
    assert meta_of("settings.md") == {"hide": ["toc"]}
    assert meta_of("operations.md") == {}


@pytest.mark.parametrize("beginning", [*BOOSTS, *WIDE])
def test_each_page_that_is_named_exists(beginning: str) -> None:
    assert [path for path in DOCS.rglob("*.md") if path.relative_to(DOCS).as_posix().startswith(beginning)]
