"""The page of a connector shows its last comparisons and its dead letters."""

from __future__ import annotations

import pytest

from airflow_provider_ignite_kafka.plugins.connector_details import ConnectorDetails
from ignite_kafka.admin.comparison_history import ConnectorComparisons
from ignite_kafka.admin.dead_letters import DeadLetterList, DeadLetterRow
from ignite_kafka.errors import KafkaUnavailable
from ignite_kafka.state.comparison_history import PastComparison
from tests.unit.airflow.plugins.test_page import NEVER_COMPARED, PATH, Page, connector, page
from tests.unit.airflow.plugins.test_page import show as show_connector

__all__ = ["page"]
NOON = 1_764_244_800_000  # 2025-11-27T12:00:00Z


def show(page: Page, *comparisons: PastComparison) -> None:
    page.details = lambda: ConnectorDetails(ConnectorComparisons("c", comparisons))


def test_comparisons_are_shown_with_what_differs(page: Page) -> None:
    show(
        page,
        PastComparison("v2", NOON, NOON + 90_000, 14.29, 2, 1_234, 1_234, 1, 20, equal=False, gap="cache <x>: too small"),
        PastComparison("v1", NOON - 1, NOON, 100.0, 2, 8_000, 8_000, oldest_ms=NOON - 1),
    )
    shown = page.get()
    assert shown.index('data-comparison="v2"') < shown.index('data-comparison="v1"')
    assert "Some keys of 2 caches were never compared. Not in time: cache &lt;x&gt;: too small." in shown
    assert '<td class="number">14.29</td><td class="number">1,234</td>' in shown
    assert '<td class="warn">no</td>' in shown
    assert "were never compared: <code>" not in shown


def test_the_time_since_which_all_keys_are_compared_is_shown(page: Page) -> None:
    show(page, PastComparison("v1", NOON, NOON + 1, caches=1, oldest_ms=NOON))
    assert 'All keys of 1 cache were compared since <time datetime="2025-11-27T12:00:00+00:00">' in page.get()


def test_a_connector_that_was_never_compared_has_the_command(page: Page) -> None:
    assert "ignite-kafka verify --name c" in page.get()


@pytest.mark.parametrize("refusal", [KafkaUnavailable("the topic is <away>"), RuntimeError("unexpected")])
def test_a_history_that_cannot_be_read_hides_nothing_else(refusal: Exception, page: Page) -> None:
    def refuse() -> ConnectorDetails:
        raise refusal

    page.details = refuse
    shown = page.get()
    assert "The comparisons cannot be read" in shown
    assert ("the topic is &lt;away&gt;" in shown) is isinstance(refusal, KafkaUnavailable)
    assert 'data-cache="people"' in shown


def test_dead_letters_are_shown_with_a_button_for_those_that_can_be_sent_again(page: Page) -> None:
    letter = DeadLetterRow(1, 42, 5, "TASK_PUT", "a.B", "no <number>", {"topic": "t", "offset": "7"})
    for replayable in (True, False):
        letters = DeadLetterList("c", "dead", (letter,), replayable)
        page.details = lambda letters=letters: ConnectorDetails(NEVER_COMPARED, letters)  # type: ignore[misc]
        show_connector(page, connector())
        shown = page.get()
        assert "<strong>a.B</strong> no &lt;number&gt;" in shown
        assert (f'action="{PATH}/replay?prefix=ignite-kafka"' in shown) is replayable
    page.details = lambda: ConnectorDetails(NEVER_COMPARED, KafkaUnavailable("no broker answers"))
    show_connector(page, connector())
    assert "The dead letters cannot be read" in page.get()
