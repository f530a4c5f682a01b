"""Conversion of the node file in ``igniteCfg`` to settings of the thin client's connection to Ignite."""

from __future__ import annotations

from pathlib import Path

from ..errors import SettingsError
from . import ignite_cfg, key_stores
from .client_security import Keys
from .ignite_cfg import NodeFile

_ADDRESSES = "ignite_addresses"


def extract_node_settings(keys: Keys, folder: Path, name: str, addresses: str | None) -> list[str]:
    """Replace ``igniteCfg`` by connection settings, from the literal values in the node file that it names.

    :param folder: where converted key stores are written, by the connector's name.
    :param addresses: addresses from the command line, which make the file unnecessary.
    :returns: warnings.
    """
    path = str(keys.values.get(ignite_cfg.NAME, "")).strip()
    if ignite_cfg.NAME in keys.values:
        keys.take(ignite_cfg.NAME, "the connector starts no node: its connection is in the ignite_* settings")
    if addresses:
        keys.values[_ADDRESSES], keys.origin[_ADDRESSES] = addresses, "the command line"
    if not path or (_ADDRESSES in keys.values and not Path(path).exists()):
        return []
    read: list[NodeFile] = []
    with keys.errors.check():
        read.append(ignite_cfg.read(path, keys.origin.get(ignite_cfg.NAME)))
    if not read:
        return []
    (node,) = read
    with keys.errors.check():
        _check_addresses(path, node, keys)
    warnings = _warnings(path, node, are_set=_ADDRESSES in keys.values)
    if node.addresses and _ADDRESSES not in keys.values:
        keys.put(_ADDRESSES, ",".join(node.addresses), ignite_cfg.NAME)
    keys.ignite.update(
        {name: value for name, value in (("username", node.username), ("password", node.password)) if value}
    )
    if node.tls:
        with keys.errors.check():
            _tls(keys, node, folder, name)
    return warnings


def _check_addresses(path: str, node: NodeFile, keys: Keys) -> None:
    """Refuse a node file without addresses, because the default address could lead to another cluster.

    :raises SettingsError: neither the file nor anything else names an address.
    """
    if not node.addresses and _ADDRESSES not in keys.values:
        finder = f", and its IP finder is {node.finder}" if node.finder else ""
        raise SettingsError(
            f"the node's file names no address{finder}",
            "Give the client connectors' addresses: --ignite host:10800,… or the setting ignite_addresses",
            setting=ignite_cfg.NAME,
            file=path,
            set_in=keys.origin.get(ignite_cfg.NAME),
        )


def _warnings(path: str, node: NodeFile, *, are_set: bool) -> list[str]:
    warnings = []
    if node.addresses and not are_set and node.port_assumed:
        warnings.append(
            f"{path} has addresses of discovery, and no port of the client connector: 10800, its default, is assumed"
        )
    if node.skipped:
        warnings.append(f"{path} has no literal value for: {', '.join(node.skipped)}")
    if node.regions:
        warnings.append(
            f"{path} declares data regions {', '.join(node.regions)}: new caches go to the nodes' default region"
        )
    return warnings


def _tls(keys: Keys, node: NodeFile, folder: Path, name: str) -> None:
    keys.put("ignite_tls_enabled", "true", ignite_cfg.NAME)
    trust = node.stores.get("trustStoreFilePath")
    store = node.stores.get("keyStoreFilePath")
    if trust:
        target = folder / f"{name}-ignite-ca.pem"
        text = key_stores.certificates(trust, node.stores.get("trustStorePassword", ""), ignite_cfg.NAME)
        with target.open("x") as file:
            file.write(text)
        keys.put("ignite_tls_ca_file", str(target), ignite_cfg.NAME)
    if store:
        password = node.stores.get("keyStorePassword", "")
        pkcs12 = key_stores.pkcs12(store, password, password, folder / f"{name}-ignite.p12", ignite_cfg.NAME)
        target = key_stores.pem(pkcs12, password, folder / f"{name}-ignite.pem", ignite_cfg.NAME)
        keys.put("ignite_tls_cert_file", str(target), ignite_cfg.NAME)
        keys.ignite["key_password"] = password
