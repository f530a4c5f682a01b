"""Checks of the addresses of Ignite nodes in settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ignite.address_map import FORM, AddressMap
from ..ignite.endpoint import split_address
from .fields import TEXTS, SettingType


def why_wrong(addresses: Sequence[str], node_file: str, *, are_set: bool) -> tuple[str, ...]:
    """Return why node addresses cannot be used, and then a remedy if there is a special one; empty if they can be used.

    :param node_file: ``ignite_cfg``, the file of a node; its cluster is not that of the default address.
    :param are_set: whether the settings have addresses; otherwise these are the default.
    """
    if node_file and not are_set:
        remedy = "Set it, or give --ignite; `ignite-kafka migrate` takes the addresses of some such files"
        return f"it is not given, and the nodes of {node_file} are not those of its default", remedy
    for address in addresses:
        try:
            split_address(address)
        except ValueError as error:
            return (str(error),)
    return () if addresses else ("it is empty",)


def _address_map(value: object) -> tuple[str, ...]:
    pairs: Any = TEXTS.parse(value)
    AddressMap.of(pairs)
    return tuple(pairs)


ADDRESS_MAP = SettingType("list", f"{FORM}, with commas between pairs", _address_map)
