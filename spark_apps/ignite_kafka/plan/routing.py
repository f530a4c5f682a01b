"""Which caches are copied and to which topics: pure functions.

Lists hold regular expressions as Java's ``String.matches`` takes them: the whole name must match. What Java writes otherwise is
translated (``\\Q…\\E``, ``\\p{Alpha}``, named groups), and what has no counterpart is refused: no pattern silently means something else.
Matching takes bounded time whatever the expression, see :mod:`~ignite_kafka.settings.patterns`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from functools import lru_cache

from ..errors import SettingsError
from ..settings.patterns import NamePattern

INTERNAL_CACHES = re.compile(r"ignite-sys-.*|ignite-internal-.*")
_INTERNAL_TOPICS = ("configs", "offsets", "status", "types")
_BROKER_TOPICS = frozenset({"__cluster_metadata", "__consumer_offsets", "__share_group_state", "__transaction_state"})
_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_TOKEN = re.compile(
    r"\\[pP]\{(?P<long>\w+)\}|\\[pP](?P<short>\w)|\\Q(?P<quoted>.*?)(?:\\E|$)|\\k<(?P<back>\w+)>|\\.|\(\?<(?![=!])|.", re.DOTALL
)
# java.util.regex.Pattern, POSIX character classes (US-ASCII only)
_CLASSES = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "XDigit": "0-9a-fA-F",
    "Space": r" \t\n\x0b\f\r",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "ASCII": r"\x00-\x7f",
}


def check_pattern(pattern: str) -> None:
    """Raise ValueError with the reason where a pattern cannot be used."""
    _compiled(pattern)


def matches_whole(text: str, pattern: str) -> bool:
    """Whether a regular expression, as Java writes it, matches the whole text.

    :raises ValueError: the pattern cannot be used, or not with a text of that length.
    """
    return _matches(pattern, text)


def matches(cache: str, whitelist: Sequence[str] = (), blacklist: Sequence[str] = ()) -> bool:
    """Whether a cache is copied. The whitelist is analysed first: it lets all through when empty; the blacklist then takes away.

    :raises SettingsError: a pattern that is no regular expression.
    """
    if INTERNAL_CACHES.fullmatch(cache):
        return False
    listed = not whitelist or any(_listed("cache_whitelist", pattern, cache) for pattern in whitelist)
    return listed and not any(_listed("cache_blacklist", pattern, cache) for pattern in blacklist)


def is_backlog(cache: str, backlog_cache_name: str) -> bool:
    """Whether a cache is the backlog of some connector (`<backlog cache name>` or `<backlog cache name>-<connector>`)."""
    return cache == backlog_cache_name or cache.startswith(f"{backlog_cache_name}-")


def select(
    caches: Iterable[str], whitelist: Sequence[str] = (), blacklist: Sequence[str] = (), backlog_cache_name: str = "kafka-connect-backlog"
) -> list[str]:
    """The caches to copy, sorted by name; the connectors' own caches never match."""
    return sorted(cache for cache in caches if not is_backlog(cache, backlog_cache_name) and matches(cache, whitelist, blacklist))


def is_topic_name(text: str) -> bool:
    """Whether Kafka takes it as the name of a topic."""
    return bool(_TOPIC.fullmatch(text)) and text not in (".", "..")


def topic_of(cache: str, prefix: str = "") -> str:
    """The topic of a cache: prefix + cache name.

    :raises SettingsError: the name is no topic name (1 to 249 of a-z A-Z 0-9 . _ -, and neither . nor ..).
    """
    topic = prefix + cache
    if not is_topic_name(topic):
        raise SettingsError(
            "a topic cannot have the name that the cache gives it: allowed are 1 to 249 of the characters a-z A-Z 0-9 . _ -",
            "Leave the cache out with cache_blacklist, or choose another topic_prefix",
            cache=cache,
            topic=topic,
        )
    return topic


def routes(caches: Iterable[str], prefix: str = "", internal_topic_prefix: str = "ignite-kafka") -> dict[str, str]:
    """Cache -> topic, for all caches at once.

    :raises SettingsError: a topic is internal, or two topics collide (Kafka takes `.` and `_` for the same in metric names).
    """
    result: dict[str, str] = {}
    taken: dict[str, str] = {}
    for cache in caches:
        topic = topic_of(cache, prefix)
        if is_internal_topic(topic, internal_topic_prefix):
            raise SettingsError(
                "the topic of a cache is an internal topic",
                "Choose another topic_prefix or internal_topic_prefix",
                cache=cache,
                topic=topic,
            )
        other = taken.setdefault(topic.replace(".", "_"), cache)
        if other != cache:
            raise SettingsError(
                f"the topics of the caches {other} and {cache} collide: Kafka does not tell . from _ in names",
                "Leave one out with cache_blacklist and copy it with another connector and topic_prefix",
                cache=cache,
                topic=topic,
            )
        result[cache] = topic
    return result


def types_topic(internal_topic_prefix: str) -> str:
    """The topic that holds the binary types of records in Ignite's binary format."""
    return f"{internal_topic_prefix}-types"


def is_internal_topic(topic: str, internal_topic_prefix: str) -> bool:
    """Whether a topic is one of the connectors' own, or of the brokers'."""
    own = (f"{internal_topic_prefix}-{name}" for name in _INTERNAL_TOPICS)
    return topic in _BROKER_TOPICS or any(topic == name or topic.startswith(f"{name}-") for name in own)


def _listed(setting: str, pattern: str, name: str) -> bool:
    try:
        return _matches(pattern, name)
    except ValueError as error:
        raise SettingsError(
            f"{setting} holds no regular expression: {error}", pattern_remedy(pattern), setting=setting, value=pattern
        ) from error


def pattern_remedy(pattern: str) -> str:
    """What to do about a pattern that does not compile."""
    if pattern.startswith("*"):
        return f"Lists hold regular expressions, not wildcards: write .{pattern}"
    return "A comma separates expressions in a text: in JSON, write a list where an expression holds a comma"


@lru_cache(maxsize=65_536)
def _matches(pattern: str, name: str) -> bool:
    return _compiled(pattern).fullmatch(name)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> NamePattern:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)  # set operations inside [...], which Java has and Python lacks
            return NamePattern(_from_java(pattern), re.ASCII)
    except FutureWarning:
        raise ValueError(f"'{pattern}' has a set operation inside [...], which is not supported") from None
    except (re.error, ValueError) as error:
        raise ValueError(f"'{pattern}': {error}") from None


def _from_java(pattern: str) -> str:
    """The same regular expression as Python writes it."""
    inside = False
    result = []
    for token in _TOKEN.finditer(pattern):
        text, name = token[0], token["long"] or token["short"]
        if name:
            text = _java_class(pattern, name, negated=text[1] == "P", inside=inside)
        elif text.startswith(r"\Q"):
            text = re.escape(token["quoted"])
        elif token["back"]:
            text = f"(?P={token['back']})"
        elif text == "(?<":
            text = "(?P<"
        elif text == r"\z":
            text = r"\Z"
        elif text == "[" and inside:
            raise ValueError(f"'{pattern}' has a set inside [...], which is not supported")
        elif text in "[]":
            inside = text == "["
        result.append(text)
    return "".join(result)


def _java_class(pattern: str, name: str, *, negated: bool, inside: bool) -> str:
    characters = _CLASSES.get(name)
    if characters is None or (negated and inside):
        raise ValueError(f"'{pattern}' has the character class {name}, which is not supported")
    return characters if inside else f"[{'^' if negated else ''}{characters}]"
