"""Arguments and options of commands, in groups that commands share by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from ..common.time_spans import parse_span
from .arguments import PROVIDER
from .command_table import Positional
from .completion import complete_names

_PATHS = ("FILE", "FOLDER")
_FILE = "settings file: .properties (names of the GridGain connector or ours) or .json"
_FOLDER = f"{_FILE}; or a folder of connector files in YAML"
_SETTINGS = "settings file, if a connection needs more than an address"
_PREFIX = "internal_topic_prefix of the connector"


class Percent(click.FloatRange):
    """Type of a number above 0 and at most 100, with or without a percent sign."""

    def __init__(self) -> None:
        super().__init__(min=0, max=100, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number.

        :raises click.BadParameter: it is none, or out of range.
        """
        number: Any = str(value).removesuffix("%")
        return super().convert(number, param, ctx)


class Span(click.IntRange):
    """Type of a time span, such as ``7d``, as milliseconds."""

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the span in milliseconds.

        :raises click.BadParameter: the text is no time span.
        """
        try:
            return value if isinstance(value, int) else parse_span(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


FILES = click.Path(readable=False)
"""Type of a path, which shells complete; the command itself opens the file."""
WHOLE = click.IntRange(min=0)
"""Type of a whole number of at least 0."""


def option(flag: str, metavar: str, help: str, *names: str, **attributes: Any) -> click.Option:
    """Return an option with a value; shells complete those with the metavar FILE or FOLDER as paths.

    :param names: name of the attribute, if it is not that of the flag.
    """
    if metavar in _PATHS:
        attributes["type"] = FILES
    return click.Option([flag, *names], metavar=metavar, help=help, **attributes)


def flag(name: str, help: str) -> click.Option:
    """Return an option without a value, which is False by default."""
    return click.Option([name], is_flag=True, help=help)


def repeated(name: str, metavar: str, help: str) -> click.Option:
    """Return an option whose values are collected in a tuple."""
    return click.Option([name], metavar=metavar, help=help, multiple=True)


def wait_ms(help: str) -> click.Option:
    """Return the option for the time to wait for runs, in milliseconds; 60,000 by default."""
    return option(
        "--wait-ms", "MS", f"{help}, in milliseconds (default: 60000; 0: no wait)", type=WHOLE, default=60_000
    )


SIGNAL_ACTIONS = ("snapshot", "list", "pause", "resume", "stop")
"""Actions of the command `signal`."""
MASTER = option("--master", "MASTER", "Spark master (default: that of spark-defaults.conf, else local[*,4])")
FORCE_DEAD = "although the newest run has not ended: its driver is dead"
INSECURE = flag(
    "--allow-insecure-connections",
    "send the credentials of the secrets file also over connections without TLS, or with TLS that does not verify the "
    "other side",
)
_NAME_INSTEAD = (
    option(
        "--name",
        "NAME",
        "instead of FILE: the connector's name. Its newest run gives the settings; --kafka and --ignite the addresses",
        shell_complete=complete_names,
    ),
    option("--settings", "FILE", f"with --name: {_SETTINGS}"),
    option("--internal-topic-prefix", "PREFIX", f"with --name: {_PREFIX}"),
)

GROUPS: Mapping[str, tuple[click.Parameter, ...]] = {
    "file": (Positional("file", "FILE", _FILE, type=FILES),),
    "folder": (Positional("file", "FILE", _FOLDER, type=FILES),),
    "file or name": (Positional("file", "FILE", _FILE, type=FILES, required=False), *_NAME_INSTEAD),
    "folder or name": (Positional("file", "FILE", _FOLDER, type=FILES, required=False), *_NAME_INSTEAD),
    "connectors": (
        Positional(
            "connectors",
            "CONNECTOR",
            "further connectors' files of Kafka Connect; FILE is then a worker's file or a connector's",
            nargs=-1,
            type=FILES,
        ),
    ),
    "name": (Positional("name", "NAME", "the connector's name", shell_complete=complete_names),),
    "connector": (
        option("--settings", "FILE", _SETTINGS, "file"),
        option("--internal-topic-prefix", "PREFIX", _PREFIX),
    ),
    "ignite": (
        option("--ignite", "HOST:PORT,…", "client connectors of Ignite nodes: ignite_addresses"),
        option(
            "--ignite-address-map",
            "ANNOUNCED=REACHABLE,…",
            "ignite_address_map; with --ignite that of the file is not used",
        ),
    ),
    "kafka": (
        option("--kafka", "HOST:PORT,…", "Kafka brokers: bootstrap_servers"),
        option("--secrets", "FILE", "JSON file with secrets, readable by its owner only"),
        repeated(
            "--allow-kafka-option",
            "NAME=VALUE",
            "allow a Kafka property of the secrets file that loads code, runs a command, or sends or writes files",
        ),
        INSECURE,
    ),
    "providers": (
        repeated(
            PROVIDER,
            "CLASS=LIMIT",
            "let config providers of settings files read: FileConfigProvider=PATHS, DirectoryConfigProvider=PATHS, or "
            "EnvVarConfigProvider=EXPRESSION of variables",
        ),
    ),
    "executor secrets": (
        option("--mounted-secrets", "FILE", "secrets file at this path on every executor"),
        flag(
            "--ship-secrets-unprotected",
            "send --secrets to executors although Spark does not authenticate: anyone who reaches the driver's port "
            "can read them",
        ),
    ),
}
"""Parameters that commands share, by the name of their group."""

CLUSTERS = ("kafka", "providers")
"""Groups of each command that reads settings and connects to Kafka."""
OF_NAME = ("name", "connector", *CLUSTERS)
"""Groups of each command for the connector of a name."""
