"""Reading of an Ignite node's Spring XML file (``igniteCfg``), for its literal connection settings.

Read are the addresses of a TcpDiscovery IP finder, ``clientConnectorConfiguration``, ``SslContextFactory``,
``SecurityCredentials`` and the names of data regions. Addresses of discovery are not those of thin clients: the port is
that of the client connector, or assumed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from ..errors import SettingsError
from ..ignite.endpoint import DEFAULT_PORT

NAME = "igniteCfg"
_STORES = ("keyStoreFilePath", "keyStorePassword", "trustStoreFilePath", "trustStorePassword")
_EXPRESSIONS = ("${", "#{")
_SHORT = "{http://www.springframework.org/schema/p}"


@dataclass(frozen=True)
class NodeFile:
    """Connection settings found in an Ignite node's Spring XML file.

    :param addresses: ``host:port`` of client connectors; empty if the file names none.
    :param port_assumed: whether the port is the default, because the file names none.
    :param stores: properties of ``SslContextFactory`` by name.
    :param regions: names of data regions.
    :param skipped: names of properties whose values are no literals.
    :param finder: class of the IP finder; empty if the file names none.
    """

    addresses: tuple[str, ...] = ()
    port_assumed: bool = True
    tls: bool = False
    stores: dict[str, str] = field(default_factory=dict)
    username: str = ""
    password: str = ""
    regions: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    finder: str = ""


def read(path: str, set_in: str | None = None) -> NodeFile:
    """Read the connection settings from an Ignite node's Spring XML file.

    :raises SettingsError: the file cannot be read or is no XML.
    """
    where = {"setting": NAME, "file": path, "set_in": set_in}
    remedy = "Give the client connectors' addresses: --ignite host:10800,…"
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise SettingsError(f"the node's file cannot be read: {error.strerror}", remedy, **where) from error
    if b"<!ENTITY" in text:
        raise SettingsError("the node's file declares entities, which are not read", remedy, **where)
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise SettingsError(f"the node's file is no XML: {error}", remedy, **where) from error
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        if element.tag == "bean":
            element.extend([_property_of(name, value) for name, value in element.items() if name.startswith(_SHORT)])
    return _Reader(root).read()


def _property_of(name: str, value: str) -> Element:
    """Expand the attribute ``p:name="value"``, Spring's short form of a property, to an element."""
    return Element("property", {"name": name.removeprefix(_SHORT), "value": value})


class _Reader:
    def __init__(self, root: Element) -> None:
        self._root = root
        self._skipped = dict[str, None]()

    def read(self) -> NodeFile:
        connector = self._bean("ClientConnectorConfiguration")
        port = self._property(connector, "port")
        hosts = dict.fromkeys(host for text in self._texts("addresses") if (host := _host(text)))
        factory = self._bean("SslContextFactory")
        stores = {name: value for name in _STORES if (value := self._property(factory, name))}
        user, password = self._credentials()
        regions = [self._property(bean, "name") for bean in self._beans("DataRegionConfiguration")]
        return NodeFile(
            tuple(f"{host}:{port or DEFAULT_PORT}" for host in hosts),
            not port,
            factory is not None and self._property(connector, "sslEnabled") != "false",
            stores,
            user,
            password,
            tuple(filter(None, regions)),
            tuple(self._skipped),
            next(
                (name for bean in self._root.iter("bean") if (name := bean.get("class", "")).endswith("IpFinder")), ""
            ),
        )

    def _beans(self, ending: str) -> Iterator[Element]:
        return (bean for bean in self._root.iter("bean") if bean.get("class", "").rpartition(".")[2] == ending)

    def _bean(self, ending: str) -> Element | None:
        return next(self._beans(ending), None)

    def _property(self, bean: Element | None, name: str) -> str:
        """Return the literal value of a bean's property; empty if the bean does not set it."""
        element = next(
            (
                candidate
                for candidate in (() if bean is None else bean.findall("property"))
                if candidate.get("name") == name
            ),
            None,
        )
        return "" if element is None else self._literal(name, element.get("value") or element.findtext("value") or "")

    def _texts(self, name: str) -> list[str]:
        """Return all literal values of properties of this name, from lists and from attributes with commas."""
        named = [element for element in self._root.iter("property") if element.get("name") == name]
        lists = [
            text
            for element in named
            for text in (element.get("value", "").split(","), [value.text or "" for value in element.iter("value")])
        ]
        return [text for texts in lists for element in texts if (text := self._literal(name, element))]

    def _credentials(self) -> tuple[str, str]:
        bean = self._bean("SecurityCredentials")
        if bean is None:
            return "", ""
        arguments = [
            argument.get("value") or argument.findtext("value") or "" for argument in bean.findall("constructor-arg")
        ]
        if len(arguments) >= 2:
            return self._literal("login", arguments[0]), self._literal("password", arguments[1])
        return self._property(bean, "login"), self._property(bean, "password")

    def _literal(self, name: str, text: str) -> str:
        if any(mark in text for mark in _EXPRESSIONS):
            self._skipped[name] = None
            return ""
        return text.strip()


def _host(address: str) -> str:
    """Return the host in ``host``, ``host:port`` or ``host:port..port``; an IPv6 address keeps its brackets."""
    if address.startswith("["):
        return address[: address.find("]") + 1]
    return address.partition(":")[0].strip()
