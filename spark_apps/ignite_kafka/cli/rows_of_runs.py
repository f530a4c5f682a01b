"""Rows of the table of commands, for connectors by their settings files: check, plan, run and compare."""

from __future__ import annotations

from .command_table import CommandRow, Positional
from .options import CLUSTERS, FILES, FORCE_DEAD, MASTER, OF_NAME, WHOLE, Percent, Span, flag, option, wait_ms
from .rows_of_pairs import ROWS as ROWS_OF_PAIRS

_SNAPSHOT = "(default: the last unfinished one, else a new one)"

ROWS = (
    CommandRow(
        "validate",
        "connector_commands.validate",
        "check a settings file and show its settings and addresses; connects to no cluster",
        ("validate flights.properties", "validate connectors/"),
        groups=("folder", "connectors", "ignite", *CLUSTERS),
        output="the connectors, their settings and the errors of a folder",
    ),
    CommandRow(
        "migrate",
        "migrate.migrate",
        "convert files of Kafka Connect: write a settings file, and a secrets file if there are passwords, for each "
        "connector",
        (
            "migrate connect-standalone.properties source.properties sink.properties --output converted",
            "migrate connectors.yaml --ignite ignite-1:10800,ignite-2:10800",
        ),
        (
            Positional(
                "file",
                "WORKER",
                "a worker's .properties file, or a .yaml file of Strimzi; or the first connector's, if there is no "
                "worker's",
                type=FILES,
            ),
            Positional(
                "connectors",
                "CONNECTOR",
                "connectors' files: .properties, .json of the REST interface, or .yaml of Strimzi",
                nargs=-1,
                type=FILES,
            ),
            option("--output", "FOLDER", "existing folder of the new files (default: this one)", default="."),
            option("--ignite", "HOST:PORT,…", "client connectors of Ignite nodes: ignite_addresses"),
        ),
        ("providers",),
        "the connectors and the new files",
    ),
    CommandRow(
        "plan",
        "connector_commands.plan",
        "dry run: show what a run would copy and what is done already; writes nothing",
        (
            "plan flights.properties --snapshot-id 2026-01-31",
            "plan --name flights --kafka kafka:9092 --ignite ignite-1:10800",
        ),
        (option("--snapshot-id", "ID", f"the snapshot to plan {_SNAPSHOT}"),),
        ("folder or name", "ignite", *CLUSTERS),
        "the plan; of a folder, the differences between the files and Kafka",
    ),
    CommandRow(
        "doctor",
        "doctor.doctor",
        "ask Ignite, Kafka, the registry and Spark's executors what a run of the connector would miss; writes nothing",
        ("doctor flights.properties --master yarn", "doctor flights.properties --no-spark"),
        (MASTER, flag("--no-spark", "start no Spark session: the executors are not asked")),
        ("file or name", "ignite", *CLUSTERS),
        "the findings",
        notes=(
            "exit codes: 0: a run will find what it needs; 1: something that it needs does not work; 2: a setting is "
            "wrong",
        ),
    ),
    CommandRow(
        "apply",
        "connector_folder.apply",
        "bring states and offsets of a folder of connector files to Kafka",
        (
            "apply connectors/ --kafka kafka:9092",
            "apply connectors/ --kafka kafka:9092 --alter-offsets --wait-ms 300000",
        ),
        (
            flag(
                "--alter-offsets",
                "alter offsets of stopped connectors too; data is then sent again or skipped",
            ),
            wait_ms("time to wait for the end of each run that is stopped"),
        ),
        ("folder", "ignite", *CLUSTERS),
        "the changes made",
        continues=True,
    ),
    CommandRow(
        "run",
        "connector_commands.run",
        "copy the caches to topics, or the topics to caches",
        (
            "run flights.properties --master 'local[4]'",
            "run flights.properties --kafka kafka:9092 --ignite ignite-1:10800 --secrets secrets.json",
        ),
        (
            MASTER,
            option("--snapshot-id", "ID", f"the snapshot to begin or continue {_SNAPSHOT}"),
            option("--run-id", "ID", "key of this run's status record (default: derived from the time)"),
            flag(
                "--unless-stopped",
                "end at once if a stop was requested before (default: the start cancels that request)",
            ),
            option(
                "--metrics-host", "HOST", "metrics_host: where the endpoint of metrics_port listens, without a login"
            ),
        ),
        ("file", "connectors", "ignite", *CLUSTERS, "executor secrets"),
        "the run's record; of several connectors, the record of each",
        continues=True,
    ),
    *ROWS_OF_PAIRS,
    CommandRow(
        "verify",
        "connector_commands.verify",
        "compare topics with caches, key by key; repair what differs",
        (
            "verify flights.properties --within 7d",
            "verify --name flights --kafka kafka:9092 --ignite ignite-1:10800 --repair",
        ),
        (
            MASTER,
            option(
                "--sample",
                "PERCENT",
                "compare about so many percent of the keys, those that were not compared for the longest time "
                "(default: all)",
                type=Percent(),
            ),
            option(
                "--within",
                "SPAN",
                "time within which all keys are to be compared, such as 7d; without --sample, each comparison takes "
                "the share that this requires",
                type=Span(),
                default=0,
            ),
            option(
                "--recheck-wait",
                "SPAN",
                "beside a run, wait up to this time for the lag to pass before a difference counts (default: 60s)",
                type=Span(),
                default=60_000,
            ),
            flag(
                "--thorough",
                "decode every entry by rows too, not one of 256, to find errors of the codec (JSON only; slow)",
            ),
            option("--differences", "N", "differences to show of each cache (default: 5)", type=WHOLE, default=5),
            flag("--repair", "send again, or put again, what differs; only while no run is active"),
            option(
                "--repair-at-most",
                "N",
                "repair nothing if more than N keys differ (default: 0, no limit)",
                type=WHOLE,
                default=0,
            ),
            flag("--force", f"repair {FORCE_DEAD}"),
        ),
        ("file or name", "ignite", *CLUSTERS, "executor secrets"),
        "the counts and the first differences of each cache",
        continues="repair",
        notes=(
            "exit codes: 0: compared, and all is equal or repaired; 5: compared, and something differs (counts are on "
            "stdout); 6: compared, and nothing is repaired, because more differs than --repair-at-most allows; others: "
            "no result (1: the comparison failed, 2: a setting is wrong, 3: a run began during the "
            "repair, 4: a repair got no reply)",
        ),
    ),
    CommandRow(
        "verify history",
        "verify_history.verify_history",
        "show the last comparisons of a connector",
        ("verify history flights --kafka kafka:9092", "verify history flights --kafka kafka:9092 --json"),
        groups=OF_NAME,
        output="the last comparisons, newest first",
    ),
    CommandRow(
        "serve",
        "serve.serve",
        "serve Kafka Connect's REST interface, and run the connectors that are declared by it",
        (
            "serve --kafka kafka:9092 --ignite ignite-1:10800",
            "serve --host 0.0.0.0 --users users.json --tls-cert cert.pem --tls-key key.pem --kafka kafka:9092",
        ),
        (
            option("--host", "ADDRESS", "address to listen on (default: 127.0.0.1)", default="127.0.0.1"),
            option("--port", "PORT", "port to listen on (default: 8083)", type=WHOLE, default=8083),
            option("--tls-cert", "FILE", "certificate chain of the server, PEM"),
            option("--tls-key", "FILE", "private key of the certificate, PEM"),
            option("--users", "FILE", "JSON object of passwords by user, readable by its owner only: basic login"),
            option("--token-file", "FILE", "token, readable by its owner only: bearer login"),
            flag(
                "--allow-plain-http",
                "listen beyond loopback without TLS, for a proxy that has it: passwords and tokens travel readable",
            ),
            flag("--no-runs", "serve the interface only, and run no connector"),
            MASTER,
            option("--work", "FOLDER", "private folder of the runs' settings and logs (default: a temporary one)"),
        ),
        ("connector", "ignite", *CLUSTERS),
        "nothing",
    ),
)
"""Commands, in the order of the help."""
