"""Names of a run started by an Airflow task: connector, snapshot id and run id."""

from __future__ import annotations

import hashlib
import string
import unicodedata
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ignite_kafka.settings.connector import NAME

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

_NAME_LETTERS = frozenset(string.ascii_letters + string.digits + "._-")
_NAME_KEPT = 160


@dataclass(frozen=True)
class RunNames:
    """Names of a task's run: connector and snapshot id, the same in every try, and a run id for this try."""

    connector: str
    snapshot_id: str
    run_id: str

    @staticmethod
    def of(context: Context) -> RunNames:
        """Build the names from the ids of Dag, task, Dag run and map index."""
        task = context["ti"]
        mapped = [str(task.map_index)] if task.map_index is not None and task.map_index >= 0 else []
        snapshot_id = "/".join([task.dag_id, task.task_id, task.run_id, *mapped])
        return RunNames(
            connector_name(".".join([task.dag_id, task.task_id, *mapped])), snapshot_id, f"{snapshot_id}/{uuid.uuid4()}"
        )


def connector_name(name: str) -> str:
    """Turn Dag and task ids, which may be long or have letters beyond ASCII, into a valid connector name.

    A valid name is unchanged. In other names letters lose their accents, other characters become ``_``, and a digest of
    the whole name is appended to keep it unique: ``größe.kopie`` is ``gro_e.kopie-315b967c``.
    """
    try:
        return str(NAME.parse(name))
    except ValueError:
        plain = unicodedata.normalize("NFKD", name)
        kept = "".join(
            letter if letter in _NAME_LETTERS else "_" for letter in plain if not unicodedata.combining(letter)
        )
        return f"{kept[:_NAME_KEPT]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
