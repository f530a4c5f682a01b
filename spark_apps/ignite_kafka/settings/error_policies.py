"""Error policies for entries and records that cannot be copied."""

from .fields import choice

STOP = "STOP_TASK"
LOG_ONLY = "LOG_ONLY"
DEAD_LETTER = "DEAD_LETTER"
_ALIASES = {"STOP": STOP}
POLICY = choice(STOP, LOG_ONLY, DEAD_LETTER, aliases=_ALIASES)
POLICY_OR_NONE = choice("", STOP, LOG_ONLY, DEAD_LETTER, aliases=_ALIASES)
