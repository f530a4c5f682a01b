"""Where an entry or a record failed, in the words of Kafka Connect's dead letters (``__connect.errors.stage``)."""

from __future__ import annotations

from enum import StrEnum

from ...errors import IgniteKafkaError


class Stage(StrEnum):
    """Constants of ``org.apache.kafka.connect.runtime.errors.Stage``."""

    KEY = "KEY_CONVERTER"
    VALUE = "VALUE_CONVERTER"
    HEADER = "HEADER_CONVERTER"
    TRANSFORMATION = "TRANSFORMATION"
    PUT = "TASK_PUT"
    PRODUCE = "KAFKA_PRODUCE"


def failed_in_filter(stage: str, error: IgniteKafkaError) -> bool:
    """Whether the filter failed at an entry or a record; a transform, which has the same stage, is named by its error."""
    return stage == Stage.TRANSFORMATION and "transform_class" not in error.where
