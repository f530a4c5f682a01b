"""Configurations of a registry's client, schemas to register, and a proxy that asks for a password."""

from __future__ import annotations

import http.client
import io
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import fastavro
from confluent_kafka.schema_registry import Schema
from confluent_kafka.schema_registry.error import SchemaRegistryError

from ignite_kafka.registry.client import Registry
from ignite_kafka.registry.config import RegistryConfig, config_of
from ignite_kafka.registry.schema import AVRO, RegistrySchema
from ignite_kafka.settings.converters import parse_properties
from ignite_kafka.settings.registry_properties import URL
from tests.support.waiting import REQUEST_S


def config(
    url: str, properties: dict[str, str] | None = None, secrets: dict[str, str] | None = None, side: str = "value", **options: Any
) -> RegistryConfig:
    """Configuration of the registry at a URL, as settings and a secrets file give it. Beside secrets the file has the URL."""
    here = {} if secrets else {URL: url}
    known = parse_properties(f"{side}_converter_config", "avro", {**here, **(properties or {})})
    return config_of(side, known, {URL: url, **secrets} if secrets else {}, {}, **options)


def record(*fields: str, name: str = "Person", defaults: bool = False) -> RegistrySchema:
    """An Avro record of texts; with defaults, readers do without the fields."""
    default = {"default": ""} if defaults else {}
    members = [{"name": field, "type": "string", **(default if field != "id" else {})} for field in fields]
    return RegistrySchema(json.dumps({"type": "record", "name": name, "fields": members}), AVRO)


def read_avro(registry: Registry, data: bytes | None) -> Any:
    """What fastavro reads from a record's key or value, with the schema that its id names."""
    assert data is not None
    assert data[0] == 0
    text = registry.schema(schema_id(data)).text
    return fastavro.schemaless_reader(io.BytesIO(data[5:]), fastavro.parse_schema(json.loads(text)), None)


def schema_id(data: bytes) -> int:
    """The id of the schema of a record's key or value."""
    return int.from_bytes(data[1:5], "big")


class MemoryClient:
    """A registry in memory, as the client of a real one is used; ``requests`` counts."""

    def __init__(self) -> None:
        self.schemas: list[tuple[str, Schema]] = []
        self.requests = 0

    def register_schema(self, subject: str, schema: Schema, _normalize: bool) -> int:
        self.requests += 1
        if (subject, schema) not in self.schemas:
            self.schemas.append((subject, schema))
        return self.schemas.index((subject, schema)) + 1

    def get_schema(self, id: int) -> Schema:
        self.requests += 1
        if not 0 < id <= len(self.schemas):
            raise SchemaRegistryError(404, 40403, f"Schema {id} not found")
        return self.schemas[id - 1][1]

    def get_latest_version(self, subject: str) -> Any:
        self.requests += 1
        id = max(number for number, (one, _) in enumerate(self.schemas, 1) if one == subject)
        return SimpleNamespace(schema_id=id, schema=self.schemas[id - 1][1])

    def get_version(self, subject: str, version: int) -> Any:
        return SimpleNamespace(schema=[schema for one, schema in self.schemas if one == subject][version - 1])

    def clear_caches(self) -> None:
        pass


def memory_registry(client: MemoryClient | None = None, **options: Any) -> Registry:
    """A registry in memory; options as in :func:`config`."""
    made = client or MemoryClient()
    return Registry(config("http://127.0.0.1:8081", **options), lambda _config: made)  # type: ignore[arg-type,return-value]


def gate(url: str, allowed: str) -> AbstractContextManager[str]:
    """A proxy that passes on only what has this Authorization header; gives its URL."""
    unauthorized = 401, b'{"error_code": 401, "message": "Unauthorized"}'
    return gateway(url, lambda headers: None if headers.get("Authorization") == allowed else unauthorized)


@contextmanager
def gateway(url: str, own_answer: Callable[[Message], tuple[int, bytes] | None]) -> Iterator[str]:
    """A proxy that answers a request itself, with a status and a body, or passes it on (None); gives its URL."""
    parts = urlsplit(url)

    class Handler(BaseHTTPRequestHandler):
        def _pass(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            own = own_answer(self.headers)
            if own is not None:
                self._answer(*own)
                return
            kept = {name: value for name, value in self.headers.items() if name.lower() in ("content-type", "accept")}
            with closing(http.client.HTTPConnection(parts.netloc, timeout=REQUEST_S)) as connection:
                connection.request(self.command, self.path, body or None, kept)
                answer = connection.getresponse()
                answered = answer.status, answer.read()
            self._answer(*answered)

        def _answer(self, status: int, body: bytes) -> None:
            with suppress(ConnectionError):  # on a busy machine, the client may have given up
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        do_GET = do_POST = _pass  # noqa: N815 http.server's names

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}{parts.path}"
    finally:
        server.shutdown()
        server.server_close()
