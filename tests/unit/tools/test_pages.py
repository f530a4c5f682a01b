"""Generated pages of docs/ are those of the code as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from ignite_kafka.datasources.option_tables import TABLES
from ignite_kafka.events import EVENTS
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from tools.pages import PAGES

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_up_to_date(name: str) -> None:
    assert (DOCS / name).read_text() == PAGES[name](), "run: make pages"


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("settings.md", [f'<a id="{name}"></a>`{name}`' for name in {**SourceSettings.known(), **SinkSettings.known()}]),
        ("options.md", [f"`{name}`" for table in TABLES for name in table.options]),
        ("events.md", EVENTS),
    ],
)
def test_each_name_has_its_row(page: str, names: list[object]) -> None:
    text = PAGES[page]()
    assert [name for name in names if f"\n| {name} |" not in text] == []
