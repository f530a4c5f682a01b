"""Switchover, failover and failback of a pair that replicates one Ignite cluster to another.

Each Dag is started by hand and begins as a dry run: take *dry run* out of its form to act. A failed or killed task may
be cleared: the command continues with the step that was under way. The settings files are those of `ignite-kafka
replicate`, on the worker's host, in the folder that the environment variable IGNITE_KAFKA_PAIR names; those of the
reverse pair are written beside them. IGNITE_KAFKA_PAIR_OPTIONS has further options of the commands, such as
`--secrets /etc/ignite-kafka/secrets.json`. What to do when: docs/disaster.md.
"""

from __future__ import annotations

from typing import Any

import pendulum
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, Param

FILES = '"$IGNITE_KAFKA_PAIR/source.properties" "$IGNITE_KAFKA_PAIR/sink.properties"'
REVERSE = '--output "$IGNITE_KAFKA_PAIR"'
DRY_RUN = Param(True, type="boolean", title="dry run", description="show the steps, and change nothing")
COMMON: dict[str, Any] = {
    "start_date": pendulum.datetime(2025, 1, 1, tz="UTC"),
    "schedule": None,
    "catchup": False,
    "max_active_runs": 1,  # two commands at once end each other
    "default_args": {"retries": 2, "retry_delay": pendulum.duration(minutes=1)},
    "tags": ["ignite", "kafka"],
    "doc_md": __doc__,
}


def transition(words: str, **environment: str) -> BashOperator:
    """Return the task that runs a role transition; values of the form reach the shell as variables only."""
    dry_run = {"DRY_RUN": "{{ '--dry-run' if params.dry_run else '' }}"}
    return BashOperator(
        task_id="run_steps",
        bash_command=f"ignite-kafka replicate {words} --json $DRY_RUN $IGNITE_KAFKA_PAIR_OPTIONS",
        env={**dry_run, **environment},
        append_env=True,
    )


with DAG(
    "ignite_switchover", description="Turn the direction of a replicating pair", params={"dry_run": DRY_RUN}, **COMMON
) as dag:
    transition(f"switchover {FILES} {REVERSE}")

with DAG(
    "ignite_failover", description="A cluster is lost: the other one lives on", params={"dry_run": DRY_RUN}, **COMMON
) as failover_dag:
    transition(f"failover {FILES}")

with DAG(
    "ignite_failback",
    description="The lost cluster is back: send or drop what it never sent, and copy to it",
    params={
        "dry_run": DRY_RUN,
        "unsent": Param(
            "drop", type="string", enum=["send", "drop"], description="what the lost cluster had and never sent"
        ),
    },
    **COMMON,
) as failback_dag:
    transition(f'failback {FILES} {REVERSE} "--$UNSENT"', UNSENT="{{ params.unsent }}")
