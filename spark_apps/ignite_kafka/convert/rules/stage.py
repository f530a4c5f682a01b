"""Where an entry or a record failed, in the words of Kafka Connect's dead letters (``__connect.errors.stage``)."""

from __future__ import annotations

from enum import StrEnum


class Stage(StrEnum):
    """Constants of ``org.apache.kafka.connect.runtime.errors.Stage``."""

    KEY = "KEY_CONVERTER"
    VALUE = "VALUE_CONVERTER"
    HEADER = "HEADER_CONVERTER"
    TRANSFORMATION = "TRANSFORMATION"
    PUT = "TASK_PUT"
    PRODUCE = "KAFKA_PRODUCE"
