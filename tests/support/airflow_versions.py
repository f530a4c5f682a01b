"""Names of Airflow that tests use, from where each version has them, and marks of tests of what a version lacks.

A mark skips by the version of Airflow alone: a part that is missing by mistake fails its tests. ``test_airflow_versions.py`` checks that
nothing is skipped from Airflow 3.3 on.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat import sdk as compat
from airflow.sdk import DAG

from airflow_provider_ignite_kafka.airflow_api import VERSION

if VERSION >= (3, 2):
    from airflow.dag_processing.dagbag import DagBag
    from airflow.sdk.exceptions import AirflowRescheduleException
    from airflow.sdk.lineage import HookLineageCollector
    from airflow.sdk.providers_manager_runtime import ProvidersManagerTaskRuntime
    from airflow.serialization.decoders import smart_decode_trigger_kwargs
    from airflow.serialization.encoders import encode_trigger
    from airflow.serialization.serialized_objects import DagSerialization
else:
    from airflow.exceptions import AirflowRescheduleException
    from airflow.lineage.hook import HookLineageCollector
    from airflow.models.dagbag import DagBag
    from airflow.providers_manager import ProvidersManager as ProvidersManagerTaskRuntime
    from airflow.serialization.serialized_objects import SerializedDAG as DagSerialization
    from airflow.serialization.serialized_objects import _encode_trigger as encode_trigger
    from airflow.serialization.serialized_objects import smart_decode_trigger_kwargs
if VERSION >= (3, 1):
    from airflow.sdk import TaskInstanceState
else:
    from airflow.utils.state import TaskInstanceState
if VERSION >= (3, 3):
    from airflow.sdk.execution_time.context import AssetStateStoreAccessors
else:
    AssetStateStoreAccessors = None

__all__ = [
    "AirflowRescheduleException",
    "AssetStateStoreAccessors",
    "DagBag",
    "DagSerialization",
    "HookLineageCollector",
    "ProvidersManagerTaskRuntime",
    "TaskInstanceState",
    "encode_trigger",
    "smart_decode_trigger_kwargs",
    "timezone",
]

timezone = compat.timezone


def since(minor: int, what: str) -> pytest.MarkDecorator:
    """Mark of a test that needs a part of Airflow.

    :param minor: version 3.`minor` of Airflow, the first one that has the part.
    :param what: the part, for the report.
    """
    return pytest.mark.skipif((3, minor) > VERSION, reason=f"Airflow before 3.{minor} has no {what}")


TASK_STORE = since(3, "state store of tasks")
ASSET_STORE = since(3, "state store of assets")
WATCHER_MAPPINGS = since(3, "mappings in the arguments of watchers, which it damages")
RUN_TYPES = since(2, "allowed_run_types of Dags")
HUMAN_IN_THE_LOOP = since(1, "tasks that a person answers")
HASHABLE_ASSETS = since(2, "assets that can be keys of a mapping")
ERROR_IN_CALLBACKS = since(3, "error in the context of a callback when a Dag is tested")
AUDITED_USER = since(1, "user of a page of a plugin in its audit log")
DEADLINES = since(1, "alerts of deadlines")
UNICODE_ASSETS = since(1, "assets whose URI has other letters than those of ASCII and is their name")
SKIP_MESSAGES = since(1, "name of soft_fail in the message of a skipped sensor")
FORM_WITHOUT_FAB = since(1, "form of connections where Flask-AppBuilder is absent")
FIELDS_IN_PROVIDER_INFO = since(2, "fields of connections in the provider info")
PAGE_IN_NAVIGATION = since(1, "external views of plugins")
KAFKA_ASSETS = pytest.mark.skipif(find_spec("airflow.providers.apache.kafka.assets") is None, reason="this Kafka provider has no assets")
MARKS: Mapping[str, pytest.MarkDecorator] = {name: value for name, value in globals().items() if isinstance(value, pytest.MarkDecorator)}


def skip_what_it_cannot_read(dag_file: str) -> None:
    """Skip a test of an example Dag with a part that Airflow does not have yet.

    :param dag_file: name of the file, without its suffix.
    """
    text = (Path(__file__).parents[2] / "dags" / f"{dag_file}.py").read_text()
    for part, mark in (("allowed_run_types", RUN_TYPES), ("operators.hitl", HUMAN_IN_THE_LOOP)):
        if part in text and mark.args[0]:
            pytest.skip(mark.kwargs["reason"])


def check_cycle(dag: DAG) -> None:
    """Check that no task of a Dag waits for itself."""
    if VERSION >= (3, 1):
        dag.check_cycle()
    else:
        from airflow.utils.dag_cycle_tester import check_cycle as check

        check(dag)


def sync_folder(folder: Path) -> None:
    """Write the Dags of a folder to the database, as the Dag processor does."""
    from airflow.dag_processing.bundles.manager import DagBundlesManager

    manager = DagBundlesManager()
    manager.sync_bundles_to_db()
    [bundle] = manager.get_all_dag_bundles()
    if VERSION >= (3, 2):
        from airflow.dag_processing.dagbag import BundleDagBag, sync_bag_to_db

        sync_bag_to_db(BundleDagBag(folder, bundle_path=folder, bundle_name=bundle.name), bundle.name, bundle.version)
        return
    bag: Any = DagBag(folder, include_examples=False, bundle_path=folder) if VERSION >= (3, 1) else DagBag(folder, include_examples=False)
    if VERSION >= (3, 1):
        from airflow.models.dagbag import sync_bag_to_db

        sync_bag_to_db(bag, bundle.name, bundle.version)
    else:
        bag.sync_to_db(bundle.name, bundle.version)


def initialize_stats(loggers: list[Any]) -> None:
    """Have Stats read its configuration anew.

    :param loggers: gets each logger that Stats makes from now on.
    """
    if VERSION >= (3, 2):
        from airflow.sdk.observability.metrics import stats_utils

        if VERSION >= (3, 3):
            from airflow.sdk.observability import stats

            make, more = stats_utils.get_stats_factory(), {"export_legacy_names": False}  # Airflow's own metrics have no part in it
        else:
            from airflow.sdk.observability.stats import Stats as stats  # noqa: N813  # the module has its methods since

            make, more = stats_utils.get_stats_factory(stats), {}

        stats.initialize(factory=lambda: _added(loggers, make()), **more)
        return
    kind: Any = type(compat.Stats)
    del kind.factory
    kind.__init__(compat.Stats)  # chooses a factory
    chosen: Any = compat.Stats
    make_logger = chosen.factory
    kind.factory, chosen.instance = staticmethod(lambda *_: _added(loggers, make_logger())), None


def _added(loggers: list[Any], logger: Any) -> Any:
    loggers.append(logger)
    return logger


def forget_providers() -> None:
    """Let Airflow before 3.2 read forms of connections from hooks as a new API server does, whatever other tests have made it keep."""
    if VERSION < (3, 2):
        from airflow.providers_manager import ProvidersManager

        ProvidersManager()._cleanup()
