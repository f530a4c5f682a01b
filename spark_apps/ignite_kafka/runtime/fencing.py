"""The check that fences a run: whether a record of the configs topic is of a newer run of the connector.

Driver and tasks of a run read the configs topic and check each record of it. Kafka itself fences their producers
(:mod:`~ignite_kafka.kafka.producer`); this check also ends a run that sends nothing.
"""

from __future__ import annotations

from ..errors import Fenced
from ..kafka.producer import fenced_by_newer
from ..plan.source_plan import RunPlan
from ..state.configs import connector_generation
from ..state.internal_records import InternalRecord


def fencing_error(plan: RunPlan, record: InternalRecord) -> Fenced | None:
    """Return the error with which the connector's record of a newer run ends this run; None for any other record.

    :raises NewerFormat, OffsetsLost: the connector's record cannot be read.
    """
    theirs = connector_generation(plan.connector, record)
    return fenced_by_newer(plan.connector, None, plan.generation, theirs) if theirs > plan.generation else None
