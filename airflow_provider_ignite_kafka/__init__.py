"""Airflow provider that copies Ignite caches to Kafka topics and back.

It runs and monitors Spark apps, but moves no records itself.
"""

from __future__ import annotations

from typing import Any

_INTEGRATION = "Apache Ignite and Kafka"
_IGNITE = "Apache Ignite"
_KAFKA = "Apache Kafka"
_GUIDE = "/docs/airflow.md"
_OF_PARTS = ("airflow-dags", "airflow-deferrable", "airflow-lineage", "airflow-page", "connector-files", "submit")
_GUIDES = [_GUIDE, *(f"/docs/{name}.md" for name in _OF_PARTS)]
_THIN_CLIENTS = "https://ignite.apache.org/docs/latest/thin-clients/getting-started-with-thin-clients"
_LOGO = "/docs/integration-logos/ignite-kafka.svg"
MONITORED_CLUSTERS = '[{"kafka_conn_id": "kafka_default", "ignite_conn_id": "ignite_default"}]'
"""Default of option `monitored_clusters`, for server processes of Airflow 3.0 and 3.1, which do not read `_options`."""
_TLS_FILE = (
    "Path of a PEM file, which must be at this path on the worker, the Spark driver and the executors; or of a JKS or "
    "PKCS#12 store, which the worker reads."
)


def _field(label: str, kind: str, description: str = "", **schema: Any) -> dict[str, Any]:
    field = {"label": label, "schema": {"type": [kind, "null"], **schema}}
    return {**field, "description": description} if description else field


_AWAITED = ("cache_watch", "connector_lag", "connector_run", "connector_signal")
"""Modules of sensors, and those of their triggers."""


def get_provider_info() -> dict[str, Any]:
    """Return the provider's metadata (hooks, operators, options), which Airflow reads without importing them.

    Airflow calls this function by the entry point ``apache_airflow_provider``.
    """
    return {
        "package-name": "airflow-provider-ignite-kafka",
        "name": "Apache Ignite and Kafka",
        "description": "Copies `Apache Ignite <https://ignite.apache.org/>`__ caches to Kafka topics, and topics to "
        "caches, on Spark.",
        "integrations": [
            {**_integration(_INTEGRATION, _THIN_CLIENTS), "how-to-guide": _GUIDES, "logo": _LOGO},
            _integration(_IGNITE, "https://ignite.apache.org/"),
        ],
        "operators": _modules(
            "operators.backlog_cleanup",
            "operators.ignite_to_kafka",
            "operators.kafka_to_ignite",
            "operators.snapshot_signal",
            "operators.verify",
        ),
        "transfers": [_transfer(_IGNITE, _KAFKA, "ignite_to_kafka"), _transfer(_KAFKA, _IGNITE, "kafka_to_ignite")],
        "task-decorators": [_task_decorator("ignite_to_kafka"), _task_decorator("kafka_to_ignite")],
        "sensors": _modules(*(f"sensors.{name}" for name in _AWAITED)),
        "triggers": _modules(*(f"triggers.{name}" for name in _AWAITED)),
        "hooks": _modules("hooks.ignite"),
        "notifications": [f"{__name__}.notifications.connector.ConnectorNotifier"],
        "connection-types": [_connection_type()],
        "asset-uris": [_asset_uris()],
        "plugins": [{"name": "ignite_kafka", "plugin-class": f"{__name__}.plugins.connectors_plugin.ConnectorsPlugin"}],
        "extra-links": [f"{__name__}.links.copy.{name}" for name in ("ConnectorLink", "SparkLink", "TopicLink")],
        "config": {
            "ignite_kafka": {
                "description": "Options of the provider for Apache Ignite and Kafka.",
                "options": _options(),
            }
        },
    }


def _connection_type() -> dict[str, Any]:
    return {
        "hook-class-name": "airflow_provider_ignite_kafka.hooks.ignite.IgniteHook",
        "hook-name": "Apache Ignite",
        "connection-type": "ignite",
        "ui-field-behaviour": {
            "hidden-fields": ["extra"],
            "relabeling": {"host": "Hosts", "login": "User", "schema": "SQL schema"},
            "placeholders": {
                "host": "node-1,node-2:10801",
                "port": "10800",
                "addresses": "node-1:10800, node-2:10800",
                "schema": "PUBLIC",
            },
        },
        "conn-fields": _ignite_fields(),
    }


def _integration(name: str, url: str) -> dict[str, Any]:
    return {"integration-name": name, "external-doc-url": url, "how-to-guide": [_GUIDE], "tags": ["apache"]}


def _transfer(source: str, target: str, module: str) -> dict[str, Any]:
    names = {"source-integration-name": source, "target-integration-name": target}
    return {**names, "how-to-guide": _GUIDE, "python-module": f"{__name__}.operators.{module}"}


def _modules(*names: str) -> list[dict[str, Any]]:
    return [
        {
            "integration-name": _INTEGRATION,
            "python-modules": [f"airflow_provider_ignite_kafka.{name}" for name in names],
        }
    ]


def _task_decorator(name: str) -> dict[str, str]:
    return {"name": name, "class-name": f"{__name__}.decorators.{name}.{name}_task"}


def _asset_uris() -> dict[str, Any]:
    module = "airflow_provider_ignite_kafka.assets.ignite"
    return {
        "schemes": ["ignite"],
        "handler": f"{module}.sanitize_uri",
        "factory": f"{module}.create_asset",
        "to_openlineage_converter": f"{module}.convert_asset_to_openlineage",
    }


def _options() -> dict[str, Any]:
    return {
        "monitored_clusters": _option(
            "Clusters whose connectors the page Browse > Ignite and Kafka connectors shows: a JSON list of objects "
            "with kafka_conn_id and, if needed, internal_topic_prefix, ignite_conn_id (lag of sources, resend) and "
            "secrets_file (a path on the API server).",
            '[{"kafka_conn_id": "kafka_eu", "internal_topic_prefix": "copies", "ignite_conn_id": "ignite_eu"}]',
            MONITORED_CLUSTERS,
        ),
        "page_roles": _option(
            "Roles of Airflow whose users see the page Browse > Ignite and Kafka connectors: a JSON list; empty: "
            "everybody who may see plugins. Users of an auth manager without roles do not see it if the list names "
            "any.",
            '["Admin", "Op"]',
            "[]",
        ),
        "kafka_topic_url": _option(
            "URL of a topic in a web UI of Kafka, for the link of a task; `{topic}` is replaced by the name.",
            "http://kafka-ui:8080/ui/clusters/main/all-topics/{topic}",
        ),
        "spark_history_url": _option(
            "URL of an application in Spark's history server, for the link of a task; `{application_id}` is replaced.",
            "http://spark-history:18080/history/{application_id}/jobs/",
        ),
        **_options_of_trust(),
    }


def _options_of_trust() -> dict[str, Any]:
    """Define the options by which administrators grant permissions, as settings and connections cannot."""
    return {
        "allowed_kafka_options": _option(
            "Allowed Kafka client properties that load native code, run a command, or send or write files of the "
            "host: a JSON list, each item `name=value`. Only these may be in a Kafka connection or a secrets file.",
            '["ssl.providers=default,legacy"]',
            "[]",
        ),
        "config_providers": _option(
            "What the config providers that a settings file declares may read on workers: a JSON list, each item a "
            "class of Kafka and its limit: FileConfigProvider= or DirectoryConfigProvider= and paths, "
            "EnvVarConfigProvider= and an expression of variables. Variables that begin with AIRFLOW_ are never given.",
            '["FileConfigProvider=/run/secrets", "EnvVarConfigProvider=CONNECT_.*"]',
            "[]",
        ),
        "internal_topic_prefixes": _option(
            "Prefixes of internal topics, of all teams: a JSON list. No connector, whatever its own "
            "internal_topic_prefix, reads or writes such a topic as data. Its own prefix and ignite-kafka need not be "
            "listed.",
            '["team-a", "team-b"]',
            "[]",
        ),
        "allow_insecure_connections": _option(
            "Allow connections of sensors, triggers and all connectors to other hosts that send credentials without "
            "TLS or do not verify the TLS certificate. A connector's setting of the same name does so for connections "
            "without credentials only.",
            "True",
            "False",
            kind="boolean",
        ),
    }


def _option(description: str, example: str, default: str = "", *, kind: str = "string") -> dict[str, Any]:
    texts = {"description": description, "version_added": "0.2.0", "type": kind, "example": example, "default": default}
    # not formatted: Airflow 3.0 and 3.1 format other defaults, and each of their commands fails at the braces of a
    # JSON object
    return {**texts, "is_template": True}


def _ignite_fields() -> dict[str, Any]:
    return {
        "addresses": _field(
            "Addresses", "string", "host:port of several nodes, separated by commas; overrides Hosts and Port."
        ),
        "address_map": _field(
            "Address map",
            "string",
            "announced=reachable pairs for nodes behind NAT, such as 10.0.0.5:10800=ignite-1.example.com:31080.",
        ),
        **_tls_fields(),
        "connect_timeout_ms": _field(
            "Connect timeout (ms)", "integer", "Timeout of each address.", default=5000, minimum=1
        ),
        "request_timeout_ms": _field(
            "Request timeout (ms)", "integer", "Timeout of each reply.", default=60000, minimum=1
        ),
        "time_zone": _field(
            "Time zone of the nodes",
            "string",
            "For DATE and TIME columns of SQL, such as Europe/Berlin.",
            default="UTC",
        ),
    }


def _tls_fields() -> dict[str, Any]:
    return {
        "tls": _field("TLS", "boolean", "Encrypt the connections to the nodes.", default=False),
        "ca_file": _field("TLS: CA file", "string", f"Trusted certificates; empty: those of the system. {_TLS_FILE}"),
        "cert_file": _field("TLS: certificate file", "string", f"Certificate of this client. {_TLS_FILE}"),
        "key_file": _field(
            "TLS: key file",
            "string",
            f"Private key of this client; empty if it is in the certificate file. {_TLS_FILE}",
        ),
        "key_password": _field("TLS: key password", "string", "Password of the private key.", format="password"),
        "ca_password": _field(
            "TLS: CA store password", "string", "Password of a JKS or PKCS#12 CA file.", format="password"
        ),
        "cert_password": _field(
            "TLS: key store password", "string", "Password of a JKS or PKCS#12 certificate file.", format="password"
        ),
        "verify": _field(
            "TLS: verify certificates", "boolean", "Off: another host can impersonate the cluster.", default=True
        ),
        "check_hostname": _field(
            "TLS: check host names", "boolean", "The certificate must name the host.", default=True
        ),
    }
