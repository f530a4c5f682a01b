"""Stages at which a record can fail, as Kafka Connect names them in dead letters, and their error policies.

Header ``__connect.errors.stage`` of a dead letter has the stage.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...common.python_compat import StrEnum
from ...errors import IgniteKafkaError, TransformFailed, ValueNotWritten
from ...settings.connector import ConnectorSettings
from ...settings.error_policies import DEAD_LETTER, STOP
from ...settings.schema_contracts import DEAD_LETTER_RECORD


class Stage(StrEnum):
    """Stages at which a record can fail (``org.apache.kafka.connect.runtime.errors.Stage``)."""

    POLL = "TASK_POLL"
    KEY = "KEY_CONVERTER"
    VALUE = "VALUE_CONVERTER"
    HEADER = "HEADER_CONVERTER"
    TRANSFORMATION = "TRANSFORMATION"
    PUT = "TASK_PUT"
    PRODUCE = "KAFKA_PRODUCE"


CONTRACT = "schema_contract"
"""Name of the setting, and of the detail in an error's `where` that has the broken contract."""
_OWN = "error_handling_policy"
_OF_CONNECTOR = frozenset({Stage.POLL, Stage.PUT})
"""Stages within the connector itself, not in the converters, transforms and clients around it."""


def failed_in_filter(stage: str, where: Mapping[str, object]) -> bool:
    """Return whether the filter, and not a transform, failed on an entry or record.

    Transforms have the same stage, but their errors name the transform in `where`.
    """
    return stage == Stage.TRANSFORMATION and "transform_class" not in where


def policy_of_error(settings: ConnectorSettings, error: IgniteKafkaError) -> str:
    """Return the error policy for an entry's error that has no stage."""
    return policy_of(
        settings, Stage.VALUE if isinstance(error, (ValueNotWritten, TransformFailed)) else Stage.POLL, error.where
    )


def policy_of(settings: ConnectorSettings, stage: str, where: Mapping[str, object]) -> str:
    """Return the error policy that the settings have for an error at a stage.

    Source: Kafka Connect's ``errors.tolerance`` covers the stages around a connector, the reference's
    ``errorHandlingPolicy`` the stages within it.

    :param where: details of the error; a record that breaks a schema contract has the contract here, which decides.
    """
    if CONTRACT in where:
        return DEAD_LETTER if where[CONTRACT] == DEAD_LETTER_RECORD else STOP
    return settings.error_handling_policy if setting_of(stage, where) == _OWN else settings.conversion_policy


def setting_of(stage: str, where: Mapping[str, object]) -> str:
    """Return the setting that holds the error policy for an error at a stage."""
    return _OWN if stage in _OF_CONNECTOR or failed_in_filter(stage, where) else "conversion_error_policy"
