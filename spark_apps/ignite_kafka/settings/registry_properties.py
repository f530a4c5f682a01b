"""A converter's properties for the schema registry, under their names in Confluent's converters.

Source: ``AbstractKafkaSchemaSerDeConfig`` and ``SchemaRegistryClientConfig`` of Confluent's Schema Registry, 7.9. A
property of the client may have the prefix ``schema.registry.``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import urlsplit

from .control_characters import refuse_in_line
from .converter_property import Property
from .fields import BOOLEAN, LINE, TEXT, SettingType, choice, text_like, whole_number

PREFIX = "schema.registry."
URL = "schema.registry.url"
USER_INFO = "basic.auth.user.info"
USER_INFO_SOURCE = "basic.auth.credentials.source"
TOKEN = "bearer.auth.token"
TOKEN_SOURCE = "bearer.auth.credentials.source"
CLIENT_SECRET = "bearer.auth.client.secret"
ISSUER_URL = "bearer.auth.issuer.endpoint.url"
KEY_PASSWORD = "schema.registry.ssl.key.password"
STORE_PASSWORD = "schema.registry.ssl.keystore.password"
TRUST_PASSWORD = "schema.registry.ssl.truststore.password"
KEY_TEXT = "schema.registry.ssl.keystore.key"
SECRETS = (USER_INFO, TOKEN, CLIENT_SECRET, KEY_PASSWORD, STORE_PASSWORD, TRUST_PASSWORD)
"""Registry properties that must be in the secrets file's part ``registry``, never in a setting."""
ADDRESSES = frozenset(
    {
        URL, USER_INFO_SOURCE, TOKEN_SOURCE, ISSUER_URL, "proxy.host", "proxy.port",
        *(f"{PREFIX}ssl.{name}" for name in (
            "truststore.location", "truststore.type", "truststore.certificates", "keystore.location", "keystore.type",
            "keystore.certificate.chain", "endpoint.identification.algorithm",
        )),
    }
)  # fmt: skip
"""Registry properties that choose the login, its destination, or the verification of the destination.

Settings must not hold them beside a login, see :mod:`.registry_login`.
"""

_CLASSES = "io.confluent.kafka.serializers.subject."
_CONTEXTS = "io.confluent.kafka.serializers.context."
_STRATEGIES = ("TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy")
_NUMBER = whole_number(0, 2_147_483_647)
_TTL = whole_number(0, 2_147_483_647, besides=-1)
_NOT_HERE = "Python's TLS chooses it"
_RETRIES = "the setting retry_timeout_ms bounds the retries, with growing waits"


def _parse_urls(value: object) -> tuple[str, ...]:
    """Parse registry URLs; return them without blanks and trailing slashes."""
    texts = refuse_in_line(value).split(",") if isinstance(value, str) else value
    if not isinstance(texts, (list, tuple)):
        raise ValueError("it is not text")
    urls = tuple(text.strip().rstrip("/") for text in texts if text.strip())
    for text in urls:
        url = urlsplit(text)
        if url.username or url.password:
            raise ValueError(
                f"the URL of {url.hostname} has credentials; put user:password into the part registry of the secrets "
                f"file, as {USER_INFO}"
            )
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ValueError("a URL is not http://host:port or https://host:port")
    return urls


def _parse_metadata(value: object) -> Mapping[str, str]:
    """Parse schema metadata: pairs ``name=value`` separated by commas, or a JSON object."""
    if isinstance(value, Mapping):
        return dict(value)
    text = str(value).strip()
    if text.startswith("{"):
        members = json.loads(text)
        if all(isinstance(member, str) for member in members.values()):
            return dict(members)
        raise ValueError("it is not an object of texts")
    pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    if not all(name.strip() and equals for name, equals, _value in pairs):
        raise ValueError("it is not name=value with commas between")
    return {name.strip(): value.strip() for name, _equals, value in pairs}


_STRATEGY = choice(*_STRATEGIES, aliases={_CLASSES + name: name for name in _STRATEGIES})
_URLS = SettingType("list", "http:// or https:// URLs with commas between", _parse_urls, shown=False)
_HOST = text_like(r"[A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\]", "a host's name or address, IPv6 in brackets")
_METADATA = SettingType("mapping", "name=value with commas between, or a JSON object of texts", _parse_metadata)

_SCHEMAS: Mapping[str, Property] = {
    URL: Property(
        _URLS, (), "URLs of the registry's nodes; the next is used when one does not answer. Or in the secrets file"
    ),
    "auto.register.schemas": Property(
        BOOLEAN, True, "Register the schemas of keys and values; false: they must be registered"
    ),
    "use.latest.version": Property(
        BOOLEAN,
        False,
        "Without auto.register.schemas: write with the latest schema of the subject instead of the entries' own",
    ),
    "use.latest.with.metadata": Property(
        _METADATA,
        {},
        "Without auto.register.schemas: write with the latest schema of the subject that has these metadata",
    ),
    "use.schema.id": Property(
        whole_number(0, 2_147_483_647, besides=-1),
        -1,
        "Without auto.register.schemas: write with the schema of this id; -1: not",
    ),
    "latest.compatibility.strict": Property(
        BOOLEAN,
        True,
        "Refuse entries whose schema the latest one cannot read, for use.latest.version and use.latest.with.metadata",
    ),
    "id.compatibility.strict": Property(BOOLEAN, True, "Refuse entries whose schema that of use.schema.id cannot read"),
    "normalize.schemas": Property(
        BOOLEAN, False, "Have the registry compare schemas in a normal form, where order and spelling vary"
    ),
    "key.subject.name.strategy": Property(_STRATEGY, _STRATEGIES[0], "How the subject of a key's schema is named"),
    "value.subject.name.strategy": Property(_STRATEGY, _STRATEGIES[0], "How the subject of a value's schema is named"),
    "context.name.strategy": Property(
        choice("NullContextNameStrategy", aliases={_CONTEXTS + "NullContextNameStrategy": "NullContextNameStrategy"}),
        "NullContextNameStrategy",
        "How the context of a subject is named: no context",
    ),
    "max.schemas.per.subject": Property(
        whole_number(1, 10_000_000),
        1_000,
        "Maximum number of schemas, and of ids, that a process keeps; the oldest unused is dropped",
    ),
    "latest.cache.ttl.sec": Property(
        _TTL, -1, "Seconds for which the latest schema of a subject is kept; -1: for the life of the process"
    ),
    "latest.cache.size": Property(
        _NUMBER,
        1_000,
        "Maximum number of latest schemas kept",
        ignored="max.schemas.per.subject bounds every schema kept",
    ),
    "propagate.schema.tags": Property(
        BOOLEAN, False, "Copy Connect's tags into the schema", refused=None, remedy="Set the tags in the registry"
    ),
    "enable.headers": Property(
        BOOLEAN,
        False,
        "Write ids into headers",
        refused=None,
        remedy="Leave it out: the id is the first five bytes of keys and values",
    ),
    "schema.format": Property(
        LINE,
        "",
        "Form in which the registry gives schemas",
        refused=None,
        remedy="Leave it out: schemas are read as they were registered",
    ),
    "schema.reflection": Property(
        BOOLEAN, False, "Schemas of Java classes", ignored="no Java object is written or read"
    ),
    "rule.service.loader.enable": Property(
        BOOLEAN, True, "Load rules from the class path", ignored="rules of the registry are Java code"
    ),
    **{
        f"missing.{name}": Property(_TTL, -1, "Cache of what is missing", ignored="what is missing is asked again")
        for name in ("id.cache.ttl.sec", "version.cache.ttl.sec", "schema.cache.ttl.sec", "cache.size")
    },
}
_CLIENT: Mapping[str, Property] = {
    USER_INFO_SOURCE: Property(
        choice("URL", "USER_INFO", "SASL_INHERIT"),
        "URL",
        "Where user and password come from: URL, the URL in the secrets file; USER_INFO, basic.auth.user.info in the "
        "secrets file; SASL_INHERIT, those of the Kafka connection",
    ),
    TOKEN_SOURCE: Property(
        choice("", "STATIC_TOKEN", "OAUTHBEARER", "SASL_OAUTHBEARER_INHERIT", "CUSTOM"),
        "",
        "Where a bearer token comes from: STATIC_TOKEN, bearer.auth.token in the secrets file; OAUTHBEARER, the issuer "
        "named here; SASL_OAUTHBEARER_INHERIT, the issuer of the Kafka connection; empty: no token",
        refused=("CUSTOM",),
        remedy="A class of Java cannot be loaded: use STATIC_TOKEN or OAUTHBEARER",
    ),
    ISSUER_URL: Property(LINE, "", "URL of the OAuth issuer's token endpoint"),
    "bearer.auth.client.id": Property(LINE, "", "Client id at the OAuth issuer"),
    "bearer.auth.scope": Property(LINE, "", "Scope asked for at the OAuth issuer"),
    "bearer.auth.logical.cluster": Property(
        LINE, "", "Logical cluster in Confluent Cloud, sent as the header target-sr-cluster"
    ),
    "bearer.auth.identity.pool.id": Property(LINE, "", "Identity pool in Confluent Cloud"),
    "bearer.auth.cache.expiry.buffer.seconds": Property(
        _NUMBER,
        300,
        "Time before its end at which a token is renewed",
        ignored="a token is renewed after four fifths of its life",
    ),
    "bearer.auth.scope.claim.name": Property(
        LINE, "scope", "Claim of the token", ignored="the registry reads the token"
    ),
    "bearer.auth.sub.claim.name": Property(LINE, "sub", "Claim of the token", ignored="the registry reads the token"),
    "bearer.auth.custom.provider.class": Property(
        LINE,
        "",
        "Class that gives tokens",
        refused=None,
        remedy="A class of Java cannot be loaded: use STATIC_TOKEN or OAUTHBEARER",
    ),
    "proxy.host": Property(_HOST, "", "Host of an HTTP proxy in front of the registry"),
    "proxy.port": Property(whole_number(-1, 65_535), -1, "Port of the HTTP proxy"),
    "http.connect.timeout.ms": Property(
        whole_number(1, 2_147_483_647), 60_000, "Timeout of a connection, in milliseconds"
    ),
    "http.read.timeout.ms": Property(whole_number(1, 2_147_483_647), 60_000, "Timeout of an answer, in milliseconds"),
    **{
        name: Property(_NUMBER, None, "Retries", ignored=_RETRIES)
        for name in ("max.retries", "retries.wait.ms", "retries.max.wait.ms")
    },
    "url.randomize": Property(BOOLEAN, False, "Begin with any of the URLs", ignored="the URLs are used in their order"),
}
_TLS_TEXTS = (
    "protocol", "provider", "cipher.suites", "enabled.protocols", "keymanager.algorithm", "trustmanager.algorithm",
    "secure.random.implementation", "engine.factory.class",
)  # fmt: skip
_TLS: Mapping[str, Property] = {
    "ssl.truststore.location": Property(
        LINE, "", "File of the trusted certificate authorities: PEM, JKS or PKCS#12; empty: those of Python's certifi"
    ),
    "ssl.keystore.location": Property(
        LINE, "", "File of the client's certificate and private key: PEM, JKS or PKCS#12"
    ),
    **{
        f"ssl.{store}.type": Property(
            choice("JKS", "PKCS12", "PEM"), "", "Form of the store; empty: what the file itself shows"
        )
        for store in ("truststore", "keystore")
    },
    "ssl.truststore.certificates": Property(TEXT, "", "Trusted certificates as PEM text, instead of a file"),
    "ssl.keystore.certificate.chain": Property(TEXT, "", "The client's certificates as PEM text, instead of a file"),
    "ssl.keystore.key": Property(TEXT, "", "The client's private key as PEM text; in the secrets file"),
    "ssl.endpoint.identification.algorithm": Property(
        choice("https", ""),
        "https",
        "Check that the certificate names the host",
        refused=("",),
        remedy="Use a certificate of its host",
    ),
    **{f"ssl.{name}": Property(LINE, "", "Choice of Java's TLS", ignored=_NOT_HERE) for name in _TLS_TEXTS},
}
PROPERTIES: Mapping[str, Property] = MappingProxyType(
    {**_SCHEMAS, **_CLIENT, **{f"{PREFIX}{name}": property for name, property in _TLS.items()}}
)
"""Registry properties, which each converter with a schema registry has beside its own."""


def canonical(name: str) -> str:
    """Return a registry property's name without the optional prefix ``schema.registry.``."""
    bare = name.removeprefix(PREFIX)
    return bare if bare in PROPERTIES or bare in SECRETS else name


def is_property(part: str) -> bool:
    """Return whether a name is allowed in the secrets file's part ``registry``."""
    name = canonical(part.removeprefix("key.converter.").removeprefix("value.converter."))
    return name in PROPERTIES or name in SECRETS


def unsupported(name: str) -> str:
    """Return why a registry property with a free name, such as a request header, is refused; empty for others."""
    if name.removeprefix(PREFIX).startswith("request.header."):
        return "headers of requests cannot be set; give user and password or a token instead"
    if name.startswith(("rule.executors", "rule.actions")):
        return "rules of the registry are Java code, and are not run"
    return ""
