"""Generated pages of docs/ are those of the code as it is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ignite_kafka.datasources.option_tables import TABLES
from ignite_kafka.errors import IgniteKafkaError, SettingsError
from ignite_kafka.events import EVENTS
from ignite_kafka.settings.connect.names import setting_names
from ignite_kafka.settings.connector import ConnectorSettings
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from tests.support.waiting import REQUEST_S
from tools.pages import PAGES

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_up_to_date(name: str) -> None:
    assert (DOCS / name).read_text() == PAGES[name](), "run: make pages"


def test_a_checkout_gets_no_pages_of_another_one(tmp_path: Path) -> None:
    """An environment has one checkout installed, from which the modules of others are imported unless PYTHONPATH names them."""
    root = DOCS.parent
    shutil.copytree(root / "tools", tmp_path / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "docs").mkdir()
    environment = {**os.environ, "PYTHONPATH": f"{root / 'spark_apps'}:{root}"}
    command = [sys.executable, "-m", "tools.pages"]
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=REQUEST_S, check=False)
    assert ended.returncode == 1
    assert f"ignite_kafka is imported from {root / 'spark_apps'}, not from {tmp_path / 'spark_apps'}" in ended.stderr
    assert list((tmp_path / "docs").iterdir()) == []


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("settings.md", [f'<a id="{name}"></a>`{name}`' for name in {**SourceSettings.definitions(), **SinkSettings.definitions()}]),
        ("options.md", [f"`{name}`" for table in TABLES for name in table.options]),
        ("events.md", EVENTS),
    ],
)
def test_each_name_has_its_row(page: str, names: list[object]) -> None:
    text = PAGES[page]()
    assert [name for name in names if f"\n| {name} |" not in text] == []


LINK = re.compile(r"See docs/settings\.md#(\w+)")


@pytest.mark.parametrize("direction", [SourceSettings, SinkSettings])
def test_the_error_of_a_wrong_value_links_to_the_anchor_of_its_setting(direction: type[ConnectorSettings]) -> None:
    anchors = set(re.findall(r'<a id="(\w+)"></a>', (DOCS / "settings.md").read_text()))
    required = {"name": "c"} if direction is SourceSettings else {"name": "c", "topics": "t"}
    for name in direction.definitions():
        with pytest.raises(IgniteKafkaError) as caught:
            direction.from_dict({**required, name: 1.5})
        assert LINK.findall(str(caught.value)) == [name], str(caught.value)
        assert name in anchors


def test_each_name_of_a_setting_leads_to_an_anchor_that_exists() -> None:
    anchors = set(re.findall(r'<a id="(\w+)"></a>', (DOCS / "settings.md").read_text()))
    names = {**setting_names(), **dict.fromkeys({**SourceSettings.definitions(), **SinkSettings.definitions()})}
    assert len(names) > 100
    for name in names:
        (anchor,) = LINK.findall(str(SettingsError("w", setting=name)))
        assert anchor in anchors, name
