"""Folders of library and provider: imports go one way, each folder says what belongs there, tests mirror modules."""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from tools.pages import house
from tools.pages.house import LIBRARY, PROVIDER, ROOT

# each imports only those before it; a module of the library's root stands for itself
ORDER = (
    "errors", "common", "events", "event_descriptions", "java", "sql", "ignite.types", "ignite.binary", "ignite", "settings", "settings.connect",
    "settings.files", "migration", "plan", "kafka", "registry",
    "convert.rules", "convert.connect", "convert.scalars", "convert.avro", "convert.filter",
    "convert.ignite_types", "convert.ignite_binary", "convert.transforms", "convert.to_kafka", "convert.json",
    "convert.json_with_schemas", "convert.json_schema", "convert.to_ignite",
    "convert", "state", "metrics", "runtime", "source", "source.snapshot", "source.stream", "sink", "run", "admin", "connect_rest",
    "verification", "role_transitions", "preflight",
    "datasources", "app", "verify_app", "cli", "",
)  # fmt: skip
# the same of the provider, whose metadata ("") import nothing
PROVIDER_ORDER = (
    "", "airflow_api", "options", "threads", "templates", "parse_check", "allowed_caches", "dbapi", "hooks", "cache_watch",
    "assets", "links", "runs", "lineage", "spark", "triggers", "connector_status", "operators", "sensors", "decorators", "forms",
    "connector_store", "connector_dags", "notifications", "plugins",
)  # fmt: skip
# modules without a test of their name, by the test that covers them through the module that uses them
COVERED_BY = {
    "unit/test_events.py": "common.event_emission",
    "unit/cli/test_verify_history.py": "admin.comparison_history",
    "unit/verification/test_memory.py": "verification.result",
    "integration/admin/test_connector_events.py": "runtime.event_recorder",
    "integration/admin/test_connectors.py": "cli.connectors",
    "integration/connect_rest/test_routes.py": "connect_rest.reading",
    "unit/connect_rest/test_bodies.py": "connect_rest.messages",
    "unit/connect_rest/test_dispatch.py": "connect_rest.answers connect_rest.service",
    "unit/runtime/test_event_topic.py": "runtime.own_topic",
    "integration/role_transitions/test_role_transitions.py": ("state.role_transitions role_transitions.pair role_transitions.distance"),
    "unit/settings/files/test_connector_files.py": (
        "settings.files.airflow_arguments settings.files.declared_offsets settings.connect.strimzi settings.yaml_lines"
    ),
    "integration/admin/test_backlog.py": "source.stream.capture",
    "integration/common/test_key_stores.py": "common.der common.jks",
    "integration/admin/test_offsets.py": "state.offsets",
    "integration/cli/test_doctor.py": "admin.cluster_checks admin.executor_checks",
    "unit/cli/test_doctor.py": "admin.findings common.versions",
    "integration/cli/test_cli.py": "admin.shown_offsets cli.views cli.sink_views",
    "unit/convert/json_with_schemas/test_merged_payloads.py": "convert.connect.merged_schemas",
    "integration/convert/scalars/test_text.py": "java.text",
    "integration/convert/scalars/test_simple.py": "convert.scalars.parse_string convert.scalars.simple_tokens",
    "integration/convert/filter/test_against_spark.py": "convert.filter.evaluate convert.filter.operands",
    "integration/convert/filter/test_expressions.py": (
        "convert.filter.arithmetic convert.filter.casts convert.filter.failures convert.filter.functions"
    ),
    "unit/convert/to_ignite/test_learned_types.py": "convert.rules.parsed_json",
    "unit/convert/filter/test_entries.py": ("convert.filter.columns convert.filter.declared_types convert.filter.failed_rows"),
    "unit/ignite/test_cache_writer.py": "ignite.cache_inserts ignite.write_refusals",
    "unit/settings/files/test_load.py": "settings.ignite_addresses",
    "unit/sink/test_planning.py": "settings.shared_caches",
    "unit/sink/test_store.py": "sink.program_faults",
    "unit/sql/test_parser.py": "sql.literals sql.syntax sql.tokens",
    "integration/convert/transforms/test_transforms.py": (
        "convert.transforms.extract_field convert.transforms.flatten convert.transforms.headers convert.transforms.hoist_field"
        " convert.transforms.insert_field convert.transforms.mask_field convert.transforms.predicates convert.transforms.regex_router"
        " convert.transforms.replace_field convert.transforms.set_schema_metadata convert.transforms.structs"
        " convert.transforms.timestamp_converter convert.transforms.timestamp_router convert.transforms.value_to_key"
    ),
    "unit/convert/transforms/test_cast.py": "convert.transforms.cast_columns",
    "unit/convert/transforms/test_catalog.py": "convert.transforms.unknown_transforms convert.transforms.properties",
    "unit/convert/transforms/test_chain.py": (
        "convert.transforms.batch convert.transforms.filter convert.transforms.sides convert.transforms.thrown"
    ),
    "integration/convert/test_connect_json.py": "convert.json.converter convert.json.write_rows",
    "integration/datasources/test_sources.py": "datasources.kafka_tx datasources.spark_api",
    "integration/ignite/test_binary_java.py": (
        "ignite.binary.java_classes ignite.binary.optimized_temporal ignite.binary.optimized_transcode ignite.protocol"
    ),
    "integration/ignite/test_backlog_service.py": "ignite.backlog_errors ignite.backlog_units",
    "unit/source/snapshot/test_task.py": "source.snapshot.unit_counts",
    "integration/ignite/test_scan.py": "ignite.cache_identity",
    "integration/sink/test_sink.py": "sink.run sink.slots runtime.clients plan.sink_plan",
    "integration/sink/test_two_clusters.py": "convert.ignite_types.cluster_types",
    "integration/source/test_snapshot.py": (
        "source.snapshot.run source.snapshot.progress runtime.driver_consumer state.open_slots state.slot_claim state.status"
    ),
    "integration/source/test_stream.py": "source.stream.run source.stream.task",
    "integration/source/test_queries.py": "source.stream.query_sender source.stream.query_task",
    "unit/convert/to_ignite/test_connect_keys.py": "convert.ignite_types.type_names",
    "unit/convert/to_ignite/test_transforming_reader.py": "convert.to_ignite.header_columns",
    "unit/ignite/binary/test_encode_sparse.py": "ignite.binary.encode_headers",
    "unit/verification/test_entry_comparison.py": "verification.differences verification.entry_reader",
    "unit/verification/test_job.py": "verification.direction",
    "unit/verification/test_sink_direction.py": "verification.entry_equality",
    "integration/cli/test_local_run.py": "runtime.spark_conf",
    "unit/cli/test_commands.py": "cli.command_table cli.options cli.rows_of_control cli.rows_of_pairs cli.rows_of_runs cli.rows_of_shell",
    "unit/cli/test_output_schemas.py": "cli.file_results cli.type_schemas",
    "unit/cli/test_shell.py": "cli.completion",
    "unit/cli/test_main.py": (
        "cli.__main__ cli.arguments cli.command_settings cli.connector_commands cli.offset_commands cli.settings_table cli.tables"
        " settings.connector"
    ),
    "unit/cli/test_replicate.py": "settings.files.both_directions",
    "unit/settings/test_warnings.py": "settings.error_policies settings.start_warnings",
    "unit/convert/test_converters.py": "convert.to_kafka.converter convert.to_kafka.entry_converter convert.ignite_binary.serializer",
    "unit/convert/avro/test_decode.py": "convert.avro.cursor convert.avro.decode_items convert.avro.decode_scalars",
    "unit/convert/avro/test_deserializer.py": "convert.avro.references",
    "unit/convert/avro/test_encode.py": "convert.avro.body_writer",
    "unit/convert/avro/test_from_connect.py": "convert.avro.options settings.avro_properties",
    "unit/convert/connect/test_schema.py": "convert.connect.columns",
    "unit/convert/to_ignite/test_record_converter.py": (
        "convert.ignite_types.entries convert.json.reader convert.json.read_columns convert.json.parser"
        " convert.json.values convert.ignite_types.converted_side convert.to_ignite.readers convert.ignite_types.row_encoder"
        " convert.to_ignite.record_sides"
    ),
    "unit/convert/to_ignite/test_connect_casts.py": "convert.to_ignite.connect_numbers convert.to_ignite.connect_times",
    "unit/convert/to_ignite/test_connect_values.py": "convert.to_ignite.connect_resolver convert.to_ignite.connect_targets",
    "unit/convert/json_with_schemas/test_deserializer.py": (
        "convert.json.envelope_texts convert.json_with_schemas.payload_columns convert.json_with_schemas.payload_rows"
    ),
    "unit/convert/ignite_types/test_object_types.py": "convert.ignite_types.metadata_fields",
    "unit/convert/ignite_types/test_used_types.py": "convert.to_kafka.type_uses",
    "unit/convert/json/test_read_rows.py": ("convert.rules.polars convert.rules.marked_fields convert.ignite_types.resolve_types"),
    "unit/convert/json_with_schemas/test_serializer.py": "convert.json_with_schemas.schema_from_connect convert.json_with_schemas.payloads",
    "unit/convert/json/test_write_columns.py": "convert.json.floats",
    "unit/convert/to_kafka/test_connect_columns.py": "convert.to_kafka.connect_schemas",
    "unit/convert/to_kafka/test_bad_entries.py": "convert.rules.failure_stages",
    "unit/convert/to_kafka/test_read_back.py": (
        "convert.to_kafka.key_values convert.to_kafka.object_keys ignite.binary.key_kinds ignite.types.key_kind"
    ),
    "unit/datasources/test_frame_types.py": "datasources.frame_arrays",
    "unit/datasources/test_typed_columns.py": "datasources.frame_schemas",
    "unit/datasources/test_ignite_backlog.py": "datasources.backlog_offset datasources.backlog_rows datasources.streamed_cache",
    "unit/ignite/binary/test_decode.py": (
        "ignite.binary.byte_reader ignite.binary.column_assembly ignite.binary.container_elements ignite.binary.decode_columns"
        " ignite.binary.decode_decimals ignite.binary.decode_rows ignite.binary.decode_scalars ignite.binary.object_headers"
        " ignite.binary.page_buffer ignite.binary.text ignite.binary.type_ids ignite.binary.value_end ignite.types.type_codes"
    ),
    "unit/ignite/binary/test_encode.py": (
        "ignite.binary.byte_columns ignite.binary.encode_containers ignite.binary.encode_scalars ignite.binary.object_layout"
        " ignite.types.type_table"
    ),
    "unit/ignite/binary/test_entry_table.py": "ignite.binary.unify_types",
    "unit/ignite/binary/test_fuzz.py": "ignite.binary.row_values",
    "unit/ignite/test_cache_configuration.py": "state.cache_records",
    "unit/ignite/test_cluster.py": "ignite.cluster_errors ignite.metadata_replies ignite.types.model",
    "unit/ignite/test_connection.py": "ignite.framing ignite.handshake ignite.tls",
    "unit/kafka/test_topics.py": "kafka.topic_errors kafka.topic_lookup",
    "unit/convert/json_schema/test_deserializer.py": "convert.connect.map_entries convert.json_schema.schema_to_connect",
    "unit/convert/json_schema/test_serializer.py": "convert.json_schema.compatibility convert.json_schema.schema_from_connect",
    "unit/registry/test_client.py": "registry.errors",
    "unit/registry/test_config.py": (
        "registry.schema settings.converter_property settings.json_schema_properties settings.registry_properties"
    ),
    "unit/settings/test_source.py": ("settings.base settings.connect.names settings.fields settings.provenance settings.suggestions"),
    "integration/state/test_rights.py": "admin.topic_checks",
    "integration/source/test_signals.py": "source.stream.signal_notices source.stream.stream_signals",
    "unit/source/stream/test_stream.py": (
        "source.counted_slots source.stream.backlog_client source.stream.backlog_reader source.stream.cache_infos"
        " source.stream.change_reader source.stream.loader source.stream.node_watch source.stream.sender source.stream.state_lookup"
        " source.stream.unit_reader source.stream.unit_states"
    ),
    "unit/migration/test_migrate.py": "migration.client_security migration.node_settings migration.settings_text settings.connect.worker",
    "integration/settings/files/test_load.py": "java.properties",
    "unit/settings/connect/test_keys.py": "settings.connect.given_keys settings.key_table",
    "unit/settings/test_secrets.py": "settings.permissions",
    "unit/test_app.py": "settings.secrets_file",
}


MODULES = dict(house.modules(LIBRARY))
PACKAGES = [
    pytest.param(root, order, least, id=root.name) for root, order, least in ((LIBRARY, ORDER, 500), (PROVIDER, PROVIDER_ORDER, 150))
]


def test_imports_inside_the_library_are_relative() -> None:
    absolute = [
        f"{path}:{node.lineno}"
        for path in MODULES.values()
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Import) and node.names[0].name.startswith(LIBRARY.name))
        or (isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").startswith(LIBRARY.name))
    ]
    assert absolute == []


def test_imports_inside_the_provider_are_absolute() -> None:
    relative = [
        f"{path}:{node.lineno}"
        for _, path in house.modules(PROVIDER)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert relative == []


@pytest.mark.parametrize(("root", "order", "least"), PACKAGES)
def test_folders_import_downward_only(root: Path, order: Sequence[str], least: int) -> None:
    modules = dict(house.modules(root))
    folders = {name for name, path in modules.items() if path.name == "__init__.py"}
    upward = []
    for module, path in modules.items():
        folder = house.folder_of(module, folders)
        for target in house.imports(module, path, modules, root.name):
            if order.index(house.folder_of(target, folders)) > order.index(folder):
                upward.append(f"{module} imports {target}")
    assert upward == []


@pytest.mark.parametrize(("root", "order", "least"), PACKAGES)
def test_no_modules_import_each_other_in_a_circle(root: Path, order: Sequence[str], least: int) -> None:
    modules = dict(house.modules(root))
    graph = {module: set(house.imports(module, path, modules, root.name)) - {module} for module, path in modules.items()}
    assert sum(map(len, graph.values())) > least
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as circle:
        pytest.fail(" → ".join(circle.args[1]))


@pytest.mark.parametrize("root", [LIBRARY, PROVIDER], ids=lambda root: root.name)
def test_every_folder_says_what_belongs_there_and_what_imports_it(root: Path) -> None:
    silent = [
        name
        for name, path in house.modules(root)
        if path.name == "__init__.py" and name and "import" not in (ast.get_docstring(ast.parse(path.read_text())) or "").lower()
    ]
    assert silent == []


def test_every_module_has_a_test() -> None:
    """``ignite/scan.py`` is tested by ``unit/ignite/test_scan.py`` or ``integration/ignite/test_scan.py``, or stands in COVERED_BY."""
    tests = {path.relative_to(ROOT / "tests").as_posix() for path in (ROOT / "tests").rglob("test_*.py")}
    covered = {module for modules in COVERED_BY.values() for module in modules.split()}
    without = {module for module, path in MODULES.items() if path.name != "__init__.py" and not _tests_of(module) & tests}
    assert sorted(without - covered) == [], "these modules have no test: add one, or name in COVERED_BY the test that covers them"
    assert sorted(covered - without) == [], "these have a test of their own, or are gone: take them off COVERED_BY"
    assert sorted(set(COVERED_BY) - tests) == [], "these tests are gone"


def _tests_of(module: str) -> set[str]:
    folder, _, name = module.rpartition(".")
    place = f"{folder.replace('.', '/')}/" if folder else ""
    return {f"{kind}/{place}test_{name}.py" for kind in ("unit", "integration")}
