"""Buttons of a copying task in Airflow's web UI: Spark UI, topic in a Kafka UI, and connector page.

A link is an XCom under its key, because Airflow's web UI reads links there. A link is pushed as soon as its URL is
known, because a stream's task runs for weeks, and Airflow itself asks for links only when a task ends.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote, urlencode, urlsplit

from airflow.providers.common.compat.sdk import BaseOperatorLink, XCom, conf

from airflow_provider_ignite_kafka.options import SECTION

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import BaseOperator, Context
    from airflow.sdk.types import TaskInstanceKey

_PAGE = "/ignite-kafka/connections/{kafka_conn_id}/connectors/{connector}"
_VISIBLE = re.compile(r"[!-~]+")  # ASCII without blanks and control characters, which browsers drop
_MOST_URL = 2_000


class PushedLink(BaseOperatorLink):
    """Base class of links whose URL the running task pushes as an XCom; without it there is no button."""

    key: ClassVar[str]

    @property
    def xcom_key(self) -> str:
        """Key of the XCom with the URL."""
        return self.key

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the URL that the task pushed; empty if there is none."""
        return str(XCom.get_value(key=self.key, ti_key=ti_key) or "")


class SparkLink(PushedLink):
    """Link to the running Spark application's web UI, then to the history server (option ``spark_history_url``)."""

    name = "Spark UI"
    key = "_link_ignite_kafka_spark"


class TopicLink(PushedLink):
    """Link to the topic with most records, in the Kafka web UI of option ``kafka_topic_url``."""

    name = "Kafka topic"
    key = "_link_ignite_kafka_topic"


class ConnectorLink(PushedLink):
    """Link to the connector's page in Airflow's web UI."""

    name = "Connector"
    key = "_link_ignite_kafka_connector"


def spark_url(text: str) -> str:
    """Check the URL of Spark's web UI that a run reports; an empty text if it is no URL of http or https.

    The text is untrusted data, from a record in the status topic or from a line printed by the app.
    """
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
    except ValueError:
        return ""
    return text if usable and len(text) <= _MOST_URL and _VISIBLE.fullmatch(text) else ""


def push(context: Context, link: type[PushedLink], url: str) -> None:
    """Push the URL of a link as an XCom of the running task; an empty URL removes the button."""
    context["ti"].xcom_push(key=link.key, value=url)


def push_from_trigger(task: Any, link: type[PushedLink], url: str) -> None:
    """Push the URL of a link as an XCom from a trigger, which has no task context.

    :param task: the deferred task instance.
    """
    names = {"dag_id": task.dag_id, "task_id": task.task_id, "run_id": task.run_id}
    XCom.set(key=link.key, value=url, map_index=-1 if task.map_index is None else task.map_index, **names)


def connector_url(kafka_conn_id: str, connector: str, internal_topic_prefix: str) -> str:
    """Make the URL of a connector's page in Airflow's web UI."""
    base = str(conf.get("api", "base_url", fallback="")).rstrip("/")
    page = _PAGE.format(kafka_conn_id=quote(kafka_conn_id, safe=""), connector=quote(connector, safe=""))
    return f"{base}{page}?{urlencode({'prefix': internal_topic_prefix})}"


def topic_url(records: Mapping[str, int]) -> str:
    """Make the URL of the topic with most records in a Kafka web UI; empty if none is configured.

    :param records: number of records by topic.
    """
    template = _option("kafka_topic_url")
    if not template or not records:
        return ""
    topic = max(sorted(records), key=lambda name: records[name])
    return template.replace("{topic}", quote(topic, safe=""))


def history_url(application_id: str) -> str:
    """Make the URL of an ended application in Spark's history server; empty if none is configured."""
    template = _option("spark_history_url")
    return template.replace("{application_id}", quote(application_id, safe="")) if template and application_id else ""


def _option(name: str) -> str:
    return str(conf.get(SECTION, name, fallback="") or "").strip()
