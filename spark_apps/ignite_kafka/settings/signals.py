"""Settings of a source's signals and notifications, and the rule that their topics are the connector's alone."""

from __future__ import annotations

from .base import setting
from .connector import PREFIX, ConnectorSettings
from .findings import Findings
from .start_warnings import STREAM

NOTIFICATIONS_TOPIC = setting(
    "", PREFIX,
    "Topic that gets a JSON record for each turn of an initial or ad-hoc snapshot: its beginning, progress and end, "
    "as Debezium's notifications; created with one partition if missing. Empty: none",
)  # fmt: skip
SIGNAL_TOPIC = setting(
    "", PREFIX,
    "Topic from which a stream's driver reads signals in Debezium's form, whose key is the connector's name "
    "(docs/signals.md); created with one partition if missing. Whoever may write to it may have any of the "
    "connector's caches sent again. Empty: none",
    no_effect_because=STREAM,
)  # fmt: skip


def check_topics(settings: ConnectorSettings, findings: Findings) -> None:
    """Check that the topics of notifications and signals are neither each other nor another topic of the connector."""
    own = settings.own_topics
    for name in ("notifications_topic", "signal_topic"):
        with findings.check(name):
            same = next((other for other, topic in own.items() if other != name and topic == own.get(name)), None)
            if same is not None:
                raise settings.wrong(name, f"it is the topic of {same}", "Choose another topic")
