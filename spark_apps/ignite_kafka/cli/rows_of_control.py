"""Rows of the table of commands, for connectors by their names: inspect and control."""

from __future__ import annotations

import click

from .command_table import CommandRow, Positional
from .completion import complete_names
from .options import CLUSTERS, FORCE_DEAD, OF_NAME, SIGNAL_ACTIONS, WHOLE, flag, option, repeated, wait_ms

_FORCE = flag("--force", f"proceed {FORCE_DEAD}")

ROWS = (
    CommandRow(
        "status",
        "connector_commands.status",
        "show a connector and its runs, or all connectors",
        ("status flights --kafka kafka:9092", "status --watch --kafka kafka:9092"),
        (
            Positional(
                "name",
                "NAME",
                "the connector's name (default: all connectors)",
                required=False,
                shell_complete=complete_names,
            ),
            flag(
                "--watch",
                "show the states of the connectors until Ctrl-C, every 2 s: as a table on a terminal, else a line for "
                "each change",
            ),
        ),
        ("connector", *CLUSTERS),
        "the connector's state and its runs, or all connectors; with --watch, a line for each change",
        notes=(
            "For people: what each connector has copied, its rate and lag, and the state of its newest run. "
            "'ignite-kafka list' has the states of Kafka Connect instead, for scripts.",
        ),
    ),
    CommandRow(
        "events",
        "connector_commands.events",
        "show the events of a connector's runs: how often, when, and the newest texts",
        (
            "events flights --kafka kafka:9092 --since 2026-01-31T12:00Z",
            "events flights --kafka kafka:9092 --follow --json",
        ),
        (
            option("--since", "TIME", "only events since this time, such as 2025-01-31T12:00Z (default: all)"),
            flag("--follow", "print each event as a line, and go on with new ones until Ctrl-C"),
        ),
        OF_NAME,
        "the events; with --follow, a line for each occurrence",
    ),
    CommandRow(
        "pause",
        "connector_commands.pause",
        "pause a running connector until it is resumed",
        ("pause flights --kafka kafka:9092", "pause flights --settings flights.properties --secrets secrets.json"),
        groups=OF_NAME,
        output="the requested target state and the newest run",
        continues=True,
    ),
    CommandRow(
        "resume",
        "connector_commands.resume",
        "resume a paused connector",
        ("resume flights --kafka kafka:9092", "resume flights --settings flights.properties --secrets secrets.json"),
        groups=OF_NAME,
        output="the requested target state and the newest run",
        continues=True,
    ),
    CommandRow(
        "stop",
        "connector_commands.stop",
        "stop a running connector after the current batch",
        ("stop flights --kafka kafka:9092", "stop flights --kafka kafka:9092 --wait-ms 300000"),
        (wait_ms("time to wait for its end"),),
        OF_NAME,
        "the requested target state and the newest run",
        continues=True,
    ),
    CommandRow(
        "list",
        "connectors.show_all",
        "list all connectors with the states of Kafka Connect",
        ("list --kafka kafka:9092", "list --kafka kafka:9092 --internal-topic-prefix copies --json"),
        groups=("connector", *CLUSTERS),
        output="the connectors, sorted by name",
        notes=(
            "For scripts written for Kafka Connect: type, state and tasks of each connector as its REST interface has "
            "them. 'ignite-kafka status' shows what connectors have copied, their rate and their lag instead.",
        ),
    ),
    CommandRow(
        "restart",
        "connectors.restart",
        "end a connector's run after its current batch, so that what runs it begins the next run",
        (
            "restart flights --kafka kafka:9092",
            "restart flights --settings flights.properties --secrets secrets.json",
        ),
        groups=OF_NAME,
        output="the ended run",
        continues=True,
    ),
    CommandRow(
        "delete",
        "connectors.delete",
        "stop a connector, remove it from all lists, and end its capture on the Ignite nodes; its offsets stay",
        (
            "delete flights --kafka kafka:9092 --ignite ignite-1:10800",
            "delete flights --settings flights.properties --wait-ms 300000",
        ),
        (wait_ms("time to wait for the end of its run"),),
        (*OF_NAME, "ignite"),
        "whether the run has ended, and the removed capture",
        continues=True,
    ),
    CommandRow(
        "offsets show",
        "offset_commands.show_offsets",
        "show finished cache partitions and the update numbers sent",
        ("offsets show flights --kafka kafka:9092", "offsets show flights --kafka kafka:9092 --json"),
        groups=OF_NAME,
        output="a line for each cache partition of a source, or topic partition of a sink",
    ),
    CommandRow(
        "offsets alter",
        "offset_commands.alter_offsets",
        "set the highest update number sent of a cache partition; only while stopped",
        (
            "offsets alter flights --kafka kafka:9092 --cache flights --partition 7 --sent 1200",
            "offsets alter flights --kafka kafka:9092 --cache flights --partition 7 --sent 0 --force",
        ),
        (
            option("--cache", "CACHE", "cache of the partition", required=True),
            option("--partition", "NUMBER", "partition of the cache", required=True, type=WHOLE),
            option("--sent", "NUMBER", "highest update number that counts as sent", required=True, type=WHOLE),
            _FORCE,
        ),
        OF_NAME,
        "the update numbers before and after",
        continues=True,
    ),
    CommandRow(
        "offsets reset",
        "offset_commands.reset_offsets",
        "remove the offsets of a source, or set the offsets of a sink, for all, one cache or topic, or one partition; "
        "only while stopped",
        (
            "offsets reset flights --kafka kafka:9092 --cache flights",
            "offsets reset flights-sink --kafka kafka:9092 --topic flights --to 2026-01-31T12:00Z",
        ),
        (
            option("--cache", "CACHE", "of a source"),
            option("--topic", "TOPIC", "of a sink"),
            option("--partition", "NUMBER", "partition of that cache or topic", type=WHOLE),
            option(
                "--to",
                "PLACE",
                "where a sink continues: earliest, latest, a time such as 2025-01-31T12:00Z, or an offset",
            ),
            _FORCE,
        ),
        OF_NAME,
        "the removed offsets of a source by cache, or the offsets of a sink before and after",
        continues=True,
    ),
    CommandRow(
        "dead-letters list",
        "dead_letters.show",
        "show the newest dead letters of a connector and their reasons",
        (
            "dead-letters list flights-sink --kafka kafka:9092",
            "dead-letters list flights-sink --settings flights-sink.properties --json",
        ),
        groups=OF_NAME,
        output="the dead-letter topic and its newest dead letters",
    ),
    CommandRow(
        "dead-letters replay",
        "dead_letters.send_again",
        "send the dead letters of a sink again, unless a newer record of the key exists",
        (
            "dead-letters replay flights-sink --kafka kafka:9092",
            "dead-letters replay flights-sink --settings flights-sink.properties",
        ),
        groups=OF_NAME,
        output="the numbers of dead letters that were sent, and that were left out",
        continues=True,
    ),
    CommandRow(
        "resend",
        "offset_commands.resend",
        "send a cache, or one partition of it, again",
        (
            "resend flights --name flights-source --kafka kafka:9092 --ignite ignite-1:10800",
            "resend flights 7 --settings flights.properties",
        ),
        (
            Positional("cache", "CACHE", "the cache's name"),
            Positional("partition", "PARTITION", "one partition (default: all)", type=WHOLE, required=False),
            option(
                "--name",
                "NAME",
                "the connector's name (default: that of the settings file)",
                shell_complete=complete_names,
            ),
        ),
        ("connector", "ignite", *CLUSTERS),
        "the partitions to be sent again",
        continues=True,
    ),
    CommandRow(
        "signal",
        "signals.signal",
        "ad-hoc snapshots of a streaming source: request, list, pause, resume and stop them",
        (
            "signal trades snapshot --cache flights --where 'price > 100' --kafka kafka:9092",
            "signal trades list --kafka kafka:9092",
        ),
        (
            Positional("action", "ACTION", ", ".join(SIGNAL_ACTIONS), type=click.Choice(SIGNAL_ACTIONS)),
            repeated("--cache", "CACHE", "snapshot: a cache; may be repeated"),
            option("--where", "CONDITION", "snapshot: only entries that meet it (docs/filter.md)"),
            option("--keys", "FILE", "snapshot: only these keys of one cache, a record key of the topic on each line"),
            option("--partitions", "N,…", "snapshot: only these Ignite partitions of one cache, such as 0,7-9"),
            option(
                "--id",
                "ID",
                "snapshot: id of the signal, which is done once (default: a new one); pause, resume, stop: one signal "
                "(default: all that have not ended)",
            ),
        ),
        OF_NAME,
        "the signals of the request, or all signals with their progress",
        continues=True,
    ),
    CommandRow(
        "backlog status",
        "offset_commands.backlog_status",
        "show captured caches and unsent changes",
        (
            "backlog status flights --kafka kafka:9092 --ignite ignite-1:10800",
            "backlog status flights --settings flights.properties --json",
        ),
        groups=(*OF_NAME, "ignite"),
        output="the captured caches and the backlog of each partition",
    ),
    CommandRow(
        "backlog cleanup",
        "offset_commands.backlog_cleanup",
        "end the capture and destroy the backlog cache of a stopped connector",
        (
            "backlog cleanup flights --kafka kafka:9092 --ignite ignite-1:10800",
            "backlog cleanup flights --settings flights.properties --force",
        ),
        (flag("--force", "clean up although the connector did not stop gracefully"),),
        (*OF_NAME, "ignite"),
        "the removed service and cache",
        continues=True,
    ),
)
"""Commands, in the order of the help."""
