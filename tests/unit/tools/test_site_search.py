"""Which pages the site's search shows first; the search itself is in tests/integration/tools/test_site.py."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tools.site_search import BOOSTS, on_page_markdown

DOCS = Path(__file__).parents[3] / "docs"


def boost_of(path: str) -> float:
    page: Any = SimpleNamespace(file=SimpleNamespace(src_uri=path), meta={"title": "t"})
    assert on_page_markdown("text", page=page, config=None, files=None) == "text"
    assert page.meta["title"] == "t"
    return float(page.meta.get("search", {}).get("boost", 1.0))


def test_cures_come_before_the_rest_and_decisions_last() -> None:
    decisions = {boost_of(f"decisions/{path.name}") for path in (DOCS / "decisions").glob("0*.md")}
    assert len(decisions) == 1
    assert boost_of("recover.md") > boost_of("operations.md") == boost_of("decisions/README.md") == 1.0 > max(decisions)


@pytest.mark.parametrize("beginning", BOOSTS)
def test_each_page_with_a_factor_exists(beginning: str) -> None:
    assert [path for path in DOCS.rglob("*.md") if path.relative_to(DOCS).as_posix().startswith(beginning)]
