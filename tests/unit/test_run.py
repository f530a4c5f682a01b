"""The function that PySpark programs call."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import ignite_kafka
from ignite_kafka.common.redaction import in_message, set_log_values


@pytest.fixture
def shown() -> Iterator[None]:
    yield
    set_log_values(True)


@pytest.mark.parametrize(("log_values", "found"), [(True, "a value"), (False, "(hidden: log_values is false)")])
def test_values_are_hidden_in_the_driver_as_the_settings_say(shown: None, log_values: bool, found: str) -> None:
    class NoSpark(Exception):
        pass

    def refuse(*_: Any) -> Any:
        raise NoSpark

    settings = ignite_kafka.SourceSettings(name="c", cache_whitelist=("a",), topic_prefix="t-", log_values=log_values)
    with pytest.raises(NoSpark):
        ignite_kafka.run_connector(SimpleNamespace(sparkContext=SimpleNamespace(accumulator=refuse)), settings)  # type: ignore[arg-type]
    assert in_message("a value") == found
