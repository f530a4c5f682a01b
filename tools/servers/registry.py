"""A real schema registry on loopback: Apicurio Registry, spoken to in Confluent's API."""

from __future__ import annotations

from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import TracebackType

from .jars import Jars
from .process import ServerProcess, free_ports

_API = "/apis/ccompat/v7"


class SchemaRegistry:
    """One registry; it keeps its schemas in memory, so each start begins with none, and its port across starts.

    :param directory: of its log.
    :param port: of its REST API; None: a free one.
    """

    def __init__(
        self, directory: Path, *, jars: Jars, port: int | None = None, java_options: tuple[str, ...] = ()
    ) -> None:
        self.directory, self.port = directory, port or free_ports(1)[0]
        self._jars, self._java_options = jars, java_options
        self._process: ServerProcess | None = None

    @property
    def url(self) -> str:
        """Value for the property ``schema.registry.url``."""
        return f"http://127.0.0.1:{self.port}{_API}"

    @property
    def log(self) -> Path:
        """Log of the registry."""
        return self.directory / "registry.log"

    def start(self) -> SchemaRegistry:
        """Start and wait until its API answers.

        :raises ServerFailed: it ended, or did not answer in time.
        """
        program = next(self._jars.registry.glob("apicurio-registry-app-*-runner.jar"))
        options = ("-Xmx512m", "-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={self.port}", *self._java_options)
        self._process = ServerProcess("schema registry", ["java", *options, "-jar", program], self.log)
        self._process.await_ready(self._answers)
        return self

    def kill(self) -> None:
        """Kill the registry (SIGKILL)."""
        if self._process is not None:
            self._process.kill()

    def stop(self) -> None:
        """End the registry."""
        if self._process is not None:
            self._process.stop()

    def _answers(self) -> bool:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", f"{_API}/subjects")
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    def __enter__(self) -> SchemaRegistry:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
