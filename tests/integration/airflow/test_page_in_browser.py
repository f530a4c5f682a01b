"""The page with 500 connectors in a real browser: search, keyboard, refresh, charts, and what a screen reader is told.

The rules of accessibility are those of axe-core, https://github.com/dequelabs/axe-core.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from airflow.api_fastapi.app import create_auth_manager, purge_cached_app
from axe_core_python.selenium import Axe
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from airflow_provider_ignite_kafka.plugins.connector_details import ConnectorDetails
from airflow_provider_ignite_kafka.plugins.page_data import ClusterReading
from ignite_kafka.admin.comparison_history import ConnectorComparisons
from ignite_kafka.admin.dead_letters import DeadLetterList, DeadLetterRow
from ignite_kafka.admin.overview import ConnectorOverview, Report
from ignite_kafka.admin.signals import SignalList, SignalView
from ignite_kafka.state.comparison_history import PastComparison
from ignite_kafka.state.configs import ConnectorRecord, ConnectorState
from ignite_kafka.state.history_records import HistoryPoint
from ignite_kafka.state.signal_records import SignalCount
from ignite_kafka.state.status import CacheStatus, RunStatus, now_ms
from tests.support.browser import Browser
from tests.support.page_server import page_server

CONNECTORS = 500
SHOWN = "tr[data-connector]:not([hidden])"


def connector(number: int) -> ConnectorOverview:
    """A connector of 500: each tenth has failed, each third is a sink."""
    name = f"connector-{number:03}"
    failed = number % 10 == 0
    caches = {f"Cache{number}": CacheStatus(f"t-{number}", 5, 1_234 + number, 4_096, 8, 2, 1.0, 3)}
    error = (
        {"type": "TopicError", "what": f"topic t-{number} was deleted", "remedy": "Start a new snapshot.", "where": {}} if failed else None
    )
    state, ended = ("FAILED", now_ms()) if failed else ("RUNNING", None)
    run = RunStatus(state, name, "r", "s", 1, "w", now_ms() - 5_000, ended, caches, error)
    settings = {"topics": ["t"]} if number % 3 == 0 else {"failover_policy": "BACKLOG", "run_mode": "continuous"}
    record = ConnectorRecord(1, 2, "", "RUNNING", "r", settings)
    return Charted(name, ConnectorState(record), {"r": run}, (Report(now_ms(), run),))


class Charted(ConnectorOverview):
    """A connector with a history."""

    def points(self) -> list[HistoryPoint]:
        now = int(time.time() // 60)
        return [
            HistoryPoint(now - minute, (minute * 37) % 900, minute % 7, (minute * minute) % 5_000, 20 + minute % 50)
            for minute in range(350, -1, -1)
        ]


LETTER = DeadLetterRow(0, 7, now_ms(), "TASK_PUT", "ignite_kafka.errors.RecordRefused", "price is no number", {"topic": "t", "offset": "9"})
LETTERS = DeadLetterList("c", "dead", (LETTER,), replayable=True)
SIGNALS = SignalList(
    "c",
    (
        SignalView("repair-16", "FAILED", ("secrets",), "", now_ms(), now_ms(), now_ms(), error="the connector does not copy it"),
        SignalView("repair-17", "RUNNING", ("Cache1",), "", now_ms(), now_ms(), None, {"Cache1": SignalCount(64, 16, 2_144)}, 250.0, 15.0),
    ),
    run_ended=False,
)
COMPARED = [PastComparison("v2", now_ms() - 60_000, now_ms(), 5.0, 1, 1_000, 1_000, different=2, equal=False, gap="the share is too small")]
DETAILS = ConnectorDetails(ConnectorComparisons("c", COMPARED), LETTERS, SIGNALS)


class Readings:
    """What the page is given; tests change it while the page is open."""

    def __init__(self) -> None:
        made = [connector(number) for number in range(CONNECTORS)]
        self.connectors = {each.name: each for each in made}

    def read(self, cluster: Any) -> ClusterReading:
        lags = {name: {"t": 5} for name in self.connectors}
        return ClusterReading(cluster, self.connectors, lags)


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> Iterator[Readings]:
    monkeypatch.setenv("AIRFLOW__CORE__AUTH_MANAGER", "airflow.api_fastapi.auth.managers.simple.simple_auth_manager.SimpleAuthManager")
    monkeypatch.setenv("AIRFLOW__API__SECRET_KEY", "a secret key of the test")
    monkeypatch.delenv("AIRFLOW__IGNITE_KAFKA__MONITORED_CLUSTERS", raising=False)
    create_auth_manager()
    yield Readings()
    purge_cached_app()


def focused(browser: Browser) -> str:
    return browser.driver.switch_to.active_element.text


def shown(browser: Browser) -> list[str | None]:
    """The connectors of the rows; a refresh may replace them meanwhile, so it is called in ``browser.until``."""
    return [row.get_attribute("data-connector") for row in browser.all(SHOWN)]


def violations(browser: Browser) -> list[str]:
    found = Axe().run(browser.driver)["violations"]
    return [f"{each['id']}: {each['help']}: {[node['html'][:200] for node in each['nodes'][:3]]}" for each in found]


def test_500_connectors_are_searched_and_reached_by_keyboard(readings: Readings, browser: Browser) -> None:
    with page_server(readings.read) as address:
        browser.open(address)
        browser.has("500 of 500 connectors")
        assert len(browser.all(SHOWN)) == CONNECTORS
        field = browser.find("[name=q]")
        field.send_keys("Cache42")
        browser.has("11 of 500 connectors")  # 42 and 420 to 429
        assert violations(browser) == []
        browser.driver.find_element(By.CSS_SELECTOR, "[name=state]").send_keys("Failed")
        browser.has("1 of 500 connectors")
        browser.until(lambda: shown(browser) == ["connector-420"], "the connector alone")
        # a page that is loaded again, as after an action, shows the same
        browser.driver.refresh()
        browser.has("1 of 500 connectors")
        assert browser.find("[name=q]").get_attribute("value") == "Cache42"
        # a refresh by the page keeps the search, and the focus of who moves by keyboard
        browser.find("[name=q]").send_keys(Keys.TAB, Keys.TAB)
        browser.until(lambda: focused(browser) == "Search", "the focus on the button")
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        browser.until(lambda: focused(browser) == "connector-420", "the focus on the connector")
        run = readings.connectors["connector-420"].runs["r"]
        caches = {name: replace(cache, records=987_654) for name, cache in run.caches.items()}
        changed = replace(readings.connectors["connector-420"], runs={"r": replace(run, caches=caches)})
        readings.connectors = {**readings.connectors, "connector-420": changed}
        browser.has("987,654")
        browser.until(lambda: focused(browser) == "connector-420", "the focus, which a refresh keeps")
        browser.until(lambda: shown(browser) == ["connector-420"], "the search, which a refresh keeps")
        browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
        browser.has("Last hours")
        assert not browser.errors()


def test_a_connector_s_page_has_charts_and_menus_for_the_keyboard(readings: Readings, browser: Browser) -> None:
    with page_server(readings.read, DETAILS) as address:
        browser.open(f"{address}/connections/kafka_default/connectors/connector-001?prefix=ignite-kafka")
        for shown in (
            "Records in each minute",
            "repair-17",
            "16 / 64",
            "the connector does not copy it",
            "price is no number",
            "too small",
        ):
            browser.has(shown)
        assert len(browser.all("[data-signal=repair-17] button")) == 3
        assert not browser.all("[data-signal=repair-16] button")
        assert len(browser.all("svg.chart polyline")) == 3
        assert violations(browser) == []
        browser.shoot("history", height=1_500)
        menu = browser.labelled("Stop…", "summary")
        menu.send_keys(Keys.ENTER)
        browser.find("details[open] [name=typed_name]").send_keys("conn", Keys.ESCAPE)
        browser.until(lambda: not browser.all("details[open]"), "the menu closed")
        assert focused(browser) == "Stop…"
        assert not browser.errors()


def test_a_search_needs_no_script(readings: Readings, browser: Browser, tmp_path: Path) -> None:
    with page_server(readings.read) as address:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        browser.open(address)
        browser.find("[name=q]").send_keys("Cache42", Keys.ENTER)
        browser.has("11 of 500 connectors")
        assert len(browser.all(SHOWN)) == 11
