"""What happens to an entry or a record that cannot be copied."""

from .fields import choice

STOP, LOG_ONLY, DEAD_LETTER = "STOP_TASK", "LOG_ONLY", "DEAD_LETTER"
_ALIASES = {"STOP": STOP}
POLICY = choice(STOP, LOG_ONLY, DEAD_LETTER, aliases=_ALIASES)
POLICY_OR_NONE = choice("", STOP, LOG_ONLY, DEAD_LETTER, aliases=_ALIASES)
