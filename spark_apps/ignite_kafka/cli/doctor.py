"""The command `doctor`: checks of clusters, registries and executors before a run."""

from __future__ import annotations

from ..admin.findings import FAILED, OK, WARNING, Diagnosis
from ..common.versions import installed_versions, versions_text
from ..errors import IgniteKafkaError
from ..settings.connector import ConnectorSettings
from ..settings.secrets import Secrets
from ..settings.sink import SinkSettings
from . import render
from .arguments import CommandArguments
from .command_settings import require_source, secrets_of, settings_by_file_or_name


def doctor(arguments: CommandArguments) -> int:
    """Check clusters, registries and executors; return 1 if a run would not work."""
    settings = settings_by_file_or_name(arguments)
    secrets = secrets_of(arguments)
    diagnosis = Diagnosis()
    diagnosis.add("Here", OK, versions_text(installed_versions()))
    _check_clusters(settings, secrets, diagnosis)
    if arguments.no_spark:
        diagnosis.add("Executors", WARNING, "not asked: --no-spark is given")
    else:
        _check_spark(settings, arguments.master, diagnosis)
    render.show(arguments, diagnosis, text_of)
    return 1 if diagnosis.failed else 0


def _check_clusters(settings: ConnectorSettings, secrets: Secrets, diagnosis: Diagnosis) -> None:
    from ..admin.cluster_checks import check_capture, check_ignite, check_kafka, check_registries
    from ..admin.topic_checks import check_topics
    from ..preflight import check_connector
    from ..runtime.clients import kafka_clients

    clients = kafka_clients(settings, secrets)
    check_ignite(settings, secrets, diagnosis)
    check_kafka(clients, diagnosis)
    check_registries(settings, secrets, diagnosis)
    if diagnosis.failed:
        diagnosis.add("Dry run", WARNING, "not made: see above")
        return
    check_topics(settings, clients, diagnosis)
    check_capture(settings, secrets, clients, diagnosis)
    with diagnosis.failures_of("Dry run"):
        check_connector(settings, secrets, clients)
        diagnosis.add("Dry run", OK, _dry_run(settings, secrets))


def _dry_run(settings: ConnectorSettings, secrets: Secrets) -> str:
    """Plan the next run, which also checks the rights on caches and topics; return the result as text."""
    if isinstance(settings, SinkSettings):
        from .sink_views import sink_plan_view

        topics = sink_plan_view(settings, secrets).topics
        return f"{len(topics)} topics would be read: {', '.join(topic.topic for topic in topics[:5])}"
    from .views import plan_view

    caches = plan_view(require_source(settings), secrets).caches
    return f"{len(caches)} caches would be sent: {', '.join(cache.cache for cache in caches[:5])}"


def _check_spark(settings: ConnectorSettings, master: str | None, diagnosis: Diagnosis) -> None:
    from ..runtime.spark_conf import require_pyspark

    with diagnosis.failures_of("Spark"):
        require_pyspark()
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        from ..admin.executor_checks import check_executors
        from .local_run import local_session

        try:
            with local_session(settings.name, master) as spark:
                check_executors(spark, diagnosis)
        except (Py4JError, PySparkException) as error:
            reason = str(error).strip().partition("\n")[0]
            raise IgniteKafkaError(
                f"Spark did not start: {reason}", "Check --master and Spark's configuration."
            ) from error


def text_of(diagnosis: Diagnosis) -> str:
    """Return the findings as text, each followed by its remedy, and the result."""
    width = max(len(finding.subject) for finding in diagnosis.findings)
    lines = []
    for finding in diagnosis.findings:
        lines.append(f"{finding.state:8}{finding.subject:{width}}  {finding.text}")
        if finding.remedy:
            lines.append(f"{'':8}{'':{width}}  → {finding.remedy}")
    failed = sum(finding.state == FAILED for finding in diagnosis.findings)
    result = f"{failed} of {len(diagnosis.findings)} checks failed" if failed else "a run will find what it needs"
    return "\n".join([*lines, "", result])
