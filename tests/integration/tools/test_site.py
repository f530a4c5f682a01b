"""The built site in a real browser: its own search, and the anchors that errors name."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.sink import SinkSettings
from ignite_kafka.settings.source import SourceSettings
from tests.support.browser import Browser, chromium
from tests.support.waiting import DEADLINE_S

ROOT = Path(__file__).parents[3]


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, timeout=DEADLINE_S)
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile"), tmp_path_factory.mktemp("shots")) as opened:
        yield opened


@pytest.mark.parametrize(
    ("query", "section"),
    [
        ("broker down", "broker-down"),
        ("driver killed", "driver-killed"),
        ("disk full", "disk-full"),
        ("node down", "ignite-node-down"),
        ("executor killed", "executor-or-worker-killed"),
    ],
)
def test_the_search_shows_the_cure_first(query: str, section: str, address: str, browser: Browser) -> None:
    browser.open(f"{address}/index.html?q={query.replace(' ', '%20')}")
    first = browser.find("[data-md-component=search-result] a")
    assert (first.get_attribute("href") or "").partition("?")[0] == f"{address}/recover.html", first.text
    browser.open(f"{address}/recover.html#{section}")
    assert browser.find(f"[id='{section}']").text.lower().startswith(section.replace("-", " ")[:10])


def test_each_setting_that_an_error_links_to_has_its_anchor_on_the_page(site: Path) -> None:
    page = (site / "settings.html").read_text()
    for name in {**SourceSettings.definitions(), **SinkSettings.definitions()}:
        link = str(SettingsError("w", setting=name)).rpartition("See docs/settings.md#")[2]
        assert f'<a id="{link}">' in page, name
