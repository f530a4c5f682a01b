"""Rows of the table of commands, for a source and a sink that replicate a cluster, and for their role transitions."""

from __future__ import annotations

from .command_table import CommandRow, Positional
from .options import FILES, INSECURE, Span, flag, option

_PAIR = (
    Positional(
        "source",
        "SOURCE",
        "settings file of the source; alone: of both, where source. and sink. are before names of one",
        type=FILES,
    ),
    Positional("sink", "SINK", "settings file of the sink", required=False, type=FILES),
    option("--master", "MASTER", "Spark master of both (default: that of spark-defaults.conf, else local[*,4])"),
    option("--secrets", "FILE", "JSON file with secrets of the source"),
    option("--sink-secrets", "FILE", "JSON file with secrets of the sink (default: those of the source)"),
    INSECURE,
)
_WAIT = option(
    "--wait",
    "SPAN",
    "longest wait of a step, such as 10min (the default); the next call continues",
    type=Span(),
    default=600_000,
)
_DRY_RUN = flag("--dry-run", "check what can be checked, show the steps, and change nothing")
_OUTPUT = option(
    "--output", "FOLDER", "existing folder for the settings files of the reverse pair (default: this one)", default="."
)
_CONTINUES = "each step is recorded in Kafka: after a kill the same command continues, also on another machine"

ROWS = (
    CommandRow(
        "replicate",
        "replicate.replicate",
        "copy caches of one Ignite cluster to another through Kafka: a source and a sink as one command",
        ("replicate source.properties sink.properties", "replicate both.properties --master 'local[4]'"),
        _PAIR,
        ("providers",),
        "the record of each run",
        continues=True,
    ),
    CommandRow(
        "replicate switchover",
        "role_transitions.switchover",
        "turn the direction of a replicating pair without loss: drain, stop, compare, and let the reverse pair begin",
        (
            "replicate switchover source.properties sink.properties --dry-run",
            "replicate switchover source.properties sink.properties --output reverse",
        ),
        (
            *_PAIR,
            _DRY_RUN,
            flag("--abort", "undo a switchover that has not ended the capture: the pair may run again"),
            option(
                "--quiet-for",
                "SPAN",
                "time without any change for which the pair must stay drained (default: 10s)",
                type=Span(),
                default=10_000,
            ),
            _WAIT,
            _OUTPUT,
        ),
        ("providers",),
        "the transition and its figures",
        continues=True,
        notes=(_CONTINUES,),
    ),
    CommandRow(
        "replicate failover",
        "role_transitions.failover",
        "end the copy from a cluster that is lost, and say how far behind the other one is, which lives on",
        (
            "replicate failover source.properties sink.properties --dry-run",
            "replicate failover source.properties sink.properties",
        ),
        (*_PAIR, _DRY_RUN, flag("--force", "although the source's cluster answers: nobody may use it"), _WAIT),
        ("providers",),
        "the transition and its figures",
        continues=True,
        notes=(_CONTINUES,),
    ),
    CommandRow(
        "replicate failback",
        "role_transitions.failback",
        "after a failover, when the lost cluster is back: report what it never sent; send or drop it, and copy back",
        (
            "replicate failback source.properties sink.properties --report",
            "replicate failback source.properties sink.properties --drop --output reverse",
        ),
        (
            *_PAIR,
            flag("--report", "show what the returned cluster has that was never sent, and change nothing"),
            flag("--send", "send it: it replaces entries of the same keys on the other cluster"),
            flag("--drop", "drop it: entries of the other cluster replace it"),
            _DRY_RUN,
            _WAIT,
            _OUTPUT,
        ),
        ("providers",),
        "the report, or the transition and its figures",
        continues=True,
        notes=(_CONTINUES,),
    ),
)
"""Commands, in the order of the help."""
