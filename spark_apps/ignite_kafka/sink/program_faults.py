"""Errors from bugs of this program while it converts records, as opposed to bad records."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ..common.redaction import in_message
from ..errors import IgniteKafkaError, ProgramFault
from ..kafka.records import Consumed
from .record_types import TypesGrown

log = logging.getLogger(__name__)
T = TypeVar("T")


def convert_or_fault(consumed: Consumed, convert: Callable[[], T]) -> T:
    """Call a conversion of records, and turn unexpected exceptions into :class:`.ProgramFault`.

    An exception that is no error of this package is a fault of the program, and must not make a record bad. Raised
    unchanged, it would not name the records, and Spark would retry the task in vain.

    :raises ProgramFault: the program failed.
    """
    try:
        return convert()
    except (IgniteKafkaError, MemoryError, TypesGrown):
        raise
    except Exception as error:
        raise _fault(consumed, error) from error


def _fault(consumed: Consumed, error: Exception) -> ProgramFault:
    """Make the error for an unexpected exception, with its cause in the text, and log the traceback.

    Errors travel to the driver as JSON without their cause, so the text includes the cause.
    """
    at = traceback.extract_tb(error.__traceback__)[-1]
    first, last = (int(consumed.offsets[0]), int(consumed.offsets[-1])) if len(consumed) else (None, None)
    text = in_message(error)
    what = (
        f"a fault of this program: converting records failed with {type(error).__name__}: {text} "
        f"({Path(at.filename).name}:{at.lineno})"
    )
    remedy = (
        "Report it, with the traceback in the log of the executor and, if you can, these records; no error policy "
        "skips them."
    )
    lines = "".join(traceback.format_tb(error.__traceback__))
    log.error(
        "converting records of %s-%s, offsets %s to %s\n%s%s",
        consumed.topic,
        consumed.partition,
        first,
        last,
        lines,
        text,
    )
    return ProgramFault(
        what, remedy, topic=consumed.topic, partition=consumed.partition, first_offset=first, last_offset=last
    )
