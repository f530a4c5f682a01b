"""Hook of connection type `ignite`, for pyignite, SQL by Python's DB-API, and the library's own client.

Needs neither Spark nor a JVM.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from airflow.providers.common.sql.hooks.sql import DbApiHook

from airflow_provider_ignite_kafka.airflow_api import READS_CONN_FIELDS
from airflow_provider_ignite_kafka.dbapi.errors import Error
from airflow_provider_ignite_kafka.hooks.ignite_connection import DEFAULT_CONN_ID, IgniteConnection
from ignite_kafka.errors import IgniteKafkaError, SettingsError

if TYPE_CHECKING:
    from airflow_provider_ignite_kafka.hooks.pyignite_client import IgniteClient
    from ignite_kafka.ignite.cluster import Cluster
    from ignite_kafka.ignite.endpoint import IgniteCredentials, IgniteEndpoint

_SHOWN_CACHES = 5
_REMEDY = "Check addresses, TLS files and timeouts of the connection."


class IgniteHook(DbApiHook):
    """Airflow hook for an Ignite cluster: SQL as a DB-API hook, pyignite, and the library's client.

    The Airflow connection is looked up once for each hook. Host (one, or several separated by commas), port, login,
    password and SQL schema are fields of the connection; its extra may hold `addresses`, `address_map`, `tls`,
    `ca_file`, `cert_file`, `key_file`, `key_password`, `ca_password`, `cert_password`, `verify`, `check_hostname`,
    `connect_timeout_ms`, `request_timeout_ms`, `time_zone`.

    As a DB-API hook it serves the operators and sensors of the common SQL provider; ``get_records``, ``get_first``,
    ``get_df`` (pandas, polars), ``run`` and ``insert_rows`` are theirs. Each statement is committed by itself. A ``?``
    stands for a parameter.

    :param ignite_conn_id: id of a connection of type `ignite`.
    :param schema: SQL schema for names without a schema. Default: the connection's schema, else PUBLIC.
    :param secrets_file: path of a secrets file, whose part `ignite` overrides the connection's user and passwords.
    """

    conn_name_attr = "ignite_conn_id"
    default_conn_name = DEFAULT_CONN_ID
    conn_type = "ignite"
    hook_name = "Apache Ignite"
    supports_autocommit = True  # Ignite always commits by itself
    supports_executemany = True
    strip_semicolon = True
    _placeholder = "?"
    ignite_conn_id: str

    def __init__(self, *args: Any, schema: str | None = None, secrets_file: str | None = None, **kwargs: Any) -> None:
        kwargs.setdefault("replace_statement_format", "MERGE INTO {} {} VALUES ({})")
        super().__init__(*args, schema=schema, **kwargs)
        self.schema = schema
        self.secrets_file = secrets_file

    if not READS_CONN_FIELDS:  # later versions of Airflow warn of hooks with these methods

        @classmethod
        def get_connection_form_widgets(cls) -> dict[str, Any]:
            """Return the form fields of the connection, for Airflow before 3.2."""
            from airflow_provider_ignite_kafka.hooks import connection_form

            return connection_form.widgets()

        @classmethod
        def get_ui_field_behaviour(cls) -> dict[str, Any]:
            """Return labels and placeholders of the connection form, for Airflow before 3.2."""
            from airflow_provider_ignite_kafka.hooks import connection_form

            return connection_form.behaviour()

    def get_endpoint(self) -> IgniteEndpoint:
        """Return addresses, TLS settings and timeouts of the connection, without secrets.

        :raises SettingsError: a field of the connection cannot be read.
        """
        return self._read().endpoint

    def get_credentials(self) -> IgniteCredentials:
        """Return user and passwords of the connection; each may be None."""
        return self._read().credentials

    def connect(self, secrets_file: str | None = None, timeout_s: float | None = None) -> Cluster:
        """Make the library's own client of the cluster, a context manager that closes its connections.

        :param secrets_file: secrets file that replaces the hook's.
        :param timeout_s: seconds, to which the connection's timeouts are shortened if they are longer.
        :raises SettingsError: a field of the connection or the secrets file cannot be read, or the connection is not
            protected and no administrator allows that.
        """
        return self._read().cluster(secrets_file or self.secrets_file, timeout_s)

    def get_conn(self) -> IgniteClient:
        """Open a pyignite client, which is also a DB-API connection (PEP 249); close it after use.

        :raises SettingsError: see :meth:`connect`.
        :raises IgniteUnreachable, AuthenticationFailed: no node answered, or a node refused the user.
        """
        from airflow_provider_ignite_kafka.hooks.pyignite_client import IgniteClient

        connection = self._read()
        credentials = connection.checked(self.secrets_file)
        with connection.cluster(self.secrets_file) as cluster:
            cluster.connection()  # connects first, because the library's errors name the cause and pyignite's do not
        return IgniteClient(connection.endpoint, credentials, self.schema or connection.schema, connection.time_zone)

    def get_cache_names(self) -> list[str]:
        """Return the names of the cluster's caches in alphabetical order."""
        with self.connect() as cluster:
            return cluster.cache_names()

    def test_connection(self) -> tuple[bool, str]:  # type: ignore[override]  # the base class has no annotations
        """Connect and report the cluster's state and caches, for the button Test of the connection form.

        Never raises.

        :return: whether the connection can be used, and the cluster's answer or the error with its remedy.
        """
        try:
            with self.connect() as cluster:
                address = cluster.connection().address
            with closing(self.get_conn()) as client:
                return True, f"Connected to {address}: {_answer(client)}"
        # any error, because the form's fields may hold anything, and pyignite's errors have no common base class
        except Exception as error:  # noqa: BLE001
            remedy = "" if isinstance(error, IgniteKafkaError) else f". {_REMEDY}"
            return False, f"{str(error) or type(error).__name__}{remedy}"

    def _read(self) -> IgniteConnection:
        connection = IgniteConnection.of(self.connection)
        if self.secrets_file and "secrets_file" in self.connection_extra:
            # operators of the common SQL provider make arguments from the extra: its editor could have any file's
            # password sent to any host
            what = "secrets_file is in the extra of the connection, which must not choose a file of the worker"
            raise SettingsError(what, "Give it to the operator, in hook_params.", connection=self.ignite_conn_id)
        return connection

    def _get_pandas_df(self, sql: Any, parameters: Any = None, **kwargs: Any) -> Any:
        """Read query results into pandas, with decimals kept and without a warning about an unknown database."""
        with _quiet_pandas():
            return super()._get_pandas_df(sql, parameters, **{"coerce_float": False, **kwargs})

    def _get_pandas_df_by_chunks(self, sql: Any, parameters: Any = None, **kwargs: Any) -> Any:
        with _quiet_pandas():
            yield from super()._get_pandas_df_by_chunks(sql, parameters, **{"coerce_float": False, **kwargs})

    def _get_polars_df(self, sql: Any, parameters: Any = None, **kwargs: Any) -> Any:
        """Read query results into polars, with the list of parameters, which the base class drops."""
        return super()._get_polars_df(sql, _by_name(parameters), **kwargs)

    def _get_polars_df_by_chunks(self, sql: Any, parameters: Any = None, **kwargs: Any) -> Any:
        """Read query results into several polars frames; the base class yields the columns of a single frame."""
        return super()._get_polars_df_by_chunks(sql, _by_name(parameters), **{"iter_batches": True, **kwargs})

    def insert_rows(
        self,
        table: Any,
        rows: Any,
        target_fields: Any = None,
        commit_every: int = 1000,
        replace: Any = False,
        **kwargs: Any,
    ) -> None:
        """Insert rows into a table; an error names the number of the wrong row among all rows.

        :param commit_every: maximum number of rows that are checked before the first of them is sent; 0: all rows. The
            base class would insert no rows for 0.
        """
        count = 0

        def counted() -> Iterator[Any]:
            nonlocal count
            for row in rows:
                count += 1
                yield row

        try:
            every: Any = commit_every or None  # of all rows, for more_itertools.chunked
            super().insert_rows(table, counted(), target_fields, every, replace, **kwargs)
        except Error as error:
            if error.row is not None and commit_every:
                error.row += (count - 1) // commit_every * commit_every
            raise

    @staticmethod
    def _serialize_cell(cell: Any, conn: Any = None) -> Any:
        """Return a cell unchanged, because the cursor encodes values by their Python types."""
        return cell


def _by_name(parameters: Any) -> dict[str, Any] | None:
    return None if parameters is None else {"parameters": parameters}


@contextmanager
def _quiet_pandas() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="pandas only supports SQLAlchemy", category=UserWarning)
        yield


def _answer(client: IgniteClient) -> str:
    """Describe the cluster's state and caches as text, read by a pyignite client."""
    from pyignite.datatypes.cluster_state import ClusterState

    state = ClusterState(client.get_cluster().get_state()).name
    names = sorted(client.get_cache_names())
    shown = ", ".join(names[:_SHOWN_CACHES]) + (", ..." if len(names) > _SHOWN_CACHES else "")
    return f"the cluster is {state}, {len(names)} cache{'' if len(names) == 1 else 's'}{': ' if names else ''}{shown}"
