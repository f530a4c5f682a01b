"""Settings of a connector's transforms and predicates: ordered aliases, and properties by Kafka Connect's names.

``transforms=mask`` and ``transforms.mask.type=…`` of a connector file are settings ``transforms`` and
``transform_config``. Source: ConnectorConfig and TransformationStage of Kafka Connect (4.3.1), KIP-585.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import SettingsError
from .converters import IGNITE_BINARY
from .fields import BOOLEAN, MAPPING, SettingType, json_object
from .findings import Findings
from .suggestions import did_you_mean

TRANSFORMS = "transforms"
PREDICATES = "predicates"
CONFIGS = {TRANSFORMS: "transform_config", PREDICATES: "predicate_config"}
"""Setting with the properties, by the setting with the aliases, which is also Kafka Connect's prefix."""
REGEX_ROUTER = "RegexRouter"
TIMESTAMP_ROUTER = "TimestampRouter"
_PACKAGE = "org.apache.kafka.connect.transforms."
_OF_NO_SIDE = frozenset({REGEX_ROUTER, TIMESTAMP_ROUTER, "Filter", "DropHeaders", "InsertHeader"})
_TYPE = "type"
_PREDICATE = "predicate"
_NEGATE = "negate"
_VERSION = "plugin.version"
_OF_ALL = (_TYPE, _PREDICATE, _NEGATE, _VERSION)


class WithTransforms(Protocol):
    """Interface of a connector's settings, with the attributes that the functions for transforms need."""

    @property
    def transforms(self) -> tuple[str, ...]:
        """Aliases of the transforms, in the order of application."""

    @property
    def transform_config(self) -> Mapping[str, Mapping[str, str]]:
        """Properties of each transform, by alias."""

    @property
    def predicates(self) -> tuple[str, ...]:
        """Aliases of predicates."""

    @property
    def predicate_config(self) -> Mapping[str, Mapping[str, str]]:
        """Properties of each predicate, by alias."""

    @property
    def origin(self) -> Mapping[str, str]:
        """Place where each setting was set, such as file and line, by the setting's name."""

    @property
    def variants(self) -> tuple[WithTransforms, ...]:
        """Settings of the connector, followed by the settings under each override."""

    def wrong(self, name: str, reason: str, remedy: str = "") -> SettingsError:
        """Return the error to raise for a setting whose value breaks a rule."""


@dataclass(frozen=True)
class PredicateSettings:
    """Settings of a predicate: alias, Java class, and the class's properties."""

    alias: str
    type: str
    properties: Mapping[str, str]


@dataclass(frozen=True)
class TransformSettings:
    """Settings of one transform in a connector's chain of transforms.

    :param type: Java class, or ``package.module:function`` of an own transform.
    :param properties: properties of the class or function.
    :param predicate: selects the records to transform; None: all records.
    :param negate: transform the records that do not satisfy the predicate.
    """

    alias: str
    type: str
    properties: Mapping[str, str]
    predicate: PredicateSettings | None = None
    negate: bool = False

    @property
    def is_own(self) -> bool:
        """Whether the transform is a Python function of the user instead of a Java class."""
        return ":" in self.type

    @property
    def short_name(self) -> str:
        """Name of the Java class without Kafka's package."""
        return self.type.removeprefix(_PACKAGE)


def _join_list(value: object) -> object:
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value


def _parse_configs(value: object) -> dict[str, dict[str, str]]:
    value = json_object(value)
    if not isinstance(value, Mapping) or not all(
        isinstance(alias, str) and isinstance(properties, Mapping) for alias, properties in value.items()
    ):
        raise ValueError("it is not a mapping of aliases to mappings of properties")
    if nulls := [
        f"{alias}.{name}" for alias, properties in value.items() for name, item in properties.items() if item is None
    ]:
        raise ValueError(f"{', '.join(nulls)}: null is no text")
    texts = {
        alias: {name: _join_list(item) for name, item in properties.items()} for alias, properties in value.items()
    }
    return {alias: MAPPING.parse(text) for alias, text in texts.items()}  # type: ignore[misc]


PROPERTIES_BY_ALIAS = SettingType(
    "mapping",
    "a mapping of aliases to mappings of properties; as a text: JSON",
    _parse_configs,
    shown=False,
    schema={"additionalProperties": {"type": "object"}},
)


def predicates_of(settings: WithTransforms) -> tuple[PredicateSettings, ...]:
    """Return the settings of all predicates of a connector, cache or topic."""
    return tuple(_predicate(settings, alias) for alias in settings.predicates)


def chain_of(settings: WithTransforms) -> tuple[TransformSettings, ...]:
    """Return the settings of all transforms of a connector, cache or topic, in order of application."""
    chain = []
    for alias in settings.transforms:
        values = settings.transform_config.get(alias, {})
        name = values.get(_PREDICATE)
        predicate = None if name is None else _predicate(settings, name)
        properties = {key: text for key, text in values.items() if key not in _OF_ALL}
        negate = BOOLEAN.parse(values.get(_NEGATE, "false")) is True
        chain.append(TransformSettings(alias, values.get(_TYPE, ""), properties, predicate, negate))
    return tuple(chain)


def touches(chain: Iterable[TransformSettings], side: str) -> bool:
    """Return whether transforms may read or change the keys (or the values) of records.

    :param side: key or value.
    """
    other = "$Value" if side == "key" else "$Key"
    return any(transform.short_name not in _OF_NO_SIDE and not transform.type.endswith(other) for transform in chain)


def _predicate(settings: WithTransforms, alias: str) -> PredicateSettings:
    values = settings.predicate_config.get(alias, {})
    properties = {key: text for key, text in values.items() if key not in (_TYPE, _VERSION)}
    return PredicateSettings(alias, values.get(_TYPE, ""), properties)


def check_transforms(settings: WithTransforms, findings: Findings) -> None:
    """Check the aliases, types and predicates of transforms, but not their classes' own properties."""
    for kind, config in CONFIGS.items():
        aliases: tuple[str, ...] = getattr(settings, kind)
        with findings.check(kind):
            if twice := next((alias for alias in aliases if aliases.count(alias) > 1), None):
                raise settings.wrong(kind, f"alias {twice!r} is given twice", "Give each its own alias")
            if "" in aliases:
                raise settings.wrong(kind, "an alias is empty")
        for alias in dict.fromkeys(aliases):
            with findings.check(kind, config, f"{kind}.{alias}.{_TYPE}"):
                _check_type(settings, kind, alias)
    for alias in dict.fromkeys(settings.transforms):
        with findings.check(TRANSFORMS, CONFIGS[TRANSFORMS], PREDICATES):
            _check_predicate(settings, alias)
    for side in ("key", "value"):
        with findings.check(TRANSFORMS, f"{side}_converter"):
            if settings.transforms and getattr(settings, f"{side}_converter") == IGNITE_BINARY:
                reason = (
                    f"{side}_converter is ignite-binary, whose records are Ignite's bytes, in which transforms "
                    "see no fields"
                )
                raise settings.wrong(TRANSFORMS, reason, "Use json, avro or json-schema, or no transforms")


def set_in(settings: WithTransforms, kind: str, alias: str, name: str = _TYPE) -> str | None:
    """Return the place, such as file and line, where a property of a transform or predicate was set."""
    origin = settings.origin
    return origin.get(f"{kind}.{alias}.{name}") or origin.get(kind) or origin.get(CONFIGS[kind])


def _check_type(settings: WithTransforms, kind: str, alias: str) -> None:
    configs: Mapping[str, Mapping[str, str]] = getattr(settings, CONFIGS[kind])
    if not configs.get(alias, {}).get(_TYPE):
        others = [other for other in configs if other not in getattr(settings, kind)]
        near = did_you_mean(_TYPE, configs[alias]) if alias in configs else did_you_mean(alias, others)
        form = f"Set {kind}.{alias}.type to a class" + (", or package.module:function" if kind == TRANSFORMS else "")
        form += f'. In a Dag write "{CONFIGS[kind]}": {{"{alias}": {{"type": "…"}}}}'
        what = f"{alias} of {kind} has no type"
        raise SettingsError(what, near or form, setting=f"{kind}.{alias}.type", set_in=set_in(settings, kind, alias))


def _check_predicate(settings: WithTransforms, alias: str) -> None:
    values = settings.transform_config.get(alias, {})
    place = f"{TRANSFORMS}.{alias}"
    predicate = values.get(_PREDICATE)
    if predicate is not None and predicate not in settings.predicates:
        hint = (
            did_you_mean(predicate, settings.predicates)
            or f"predicates has: {', '.join(settings.predicates) or 'nothing'}"
        )
        raise SettingsError(
            f"there is no predicate {predicate!r}", hint,
            setting=f"{place}.predicate", set_in=set_in(settings, TRANSFORMS, alias, _PREDICATE),
        )  # fmt: skip
    if _NEGATE in values:
        where: dict[str, Any] = {"setting": f"{place}.negate", "set_in": set_in(settings, TRANSFORMS, alias, _NEGATE)}
        try:
            BOOLEAN.parse(values[_NEGATE])
        except ValueError as error:
            raise SettingsError(
                f"negate of {alias} is wrong: {error}", value=values[_NEGATE], allowed=BOOLEAN.allowed, **where
            ) from error
        if predicate is None:
            raise SettingsError(
                f"{alias} has no predicate to be negated", f"Set {place}.predicate, or leave negate out", **where
            )


def without_effect(settings: WithTransforms) -> Iterator[tuple[str, str, str | None]]:
    """Yield the transforms and predicates that are not used: setting, reason, and the place where it was set."""
    variants = settings.variants
    listed = {alias for variant in variants for alias in variant.transforms}
    used = {
        properties.get(_PREDICATE)
        for variant in variants
        for alias, properties in variant.transform_config.items()
        if alias in listed
    }
    for alias in settings.predicates:
        if alias not in used:
            yield f"{PREDICATES}.{alias}", "no transform names this predicate", set_in(settings, PREDICATES, alias)
    for kind, aliases in (
        (TRANSFORMS, listed),
        (PREDICATES, {alias for variant in variants for alias in variant.predicates}),
    ):
        for alias, properties in getattr(settings, CONFIGS[kind]).items():
            if alias not in aliases:
                reason = f"{kind} does not name it. {did_you_mean(alias, aliases)}".rstrip()
                yield f"{kind}.{alias}", reason, set_in(settings, kind, alias)
            if _VERSION in properties:
                yield (
                    f"{kind}.{alias}.{_VERSION}",
                    "only the installed version is available",
                    set_in(settings, kind, alias, _VERSION),
                )


def split_aliased_keys(values: Mapping[str, Any], kind: str, aliases: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Split keys such as ``transforms.mask.type`` into alias and property.

    :param aliases: the listed aliases. An alias may begin with another alias and a dot: the longest match counts.
    """
    longest_first = sorted(aliases, key=len, reverse=True)
    properties = {}
    for name in values:
        if not name.startswith(f"{kind}."):
            continue
        rest = name.removeprefix(f"{kind}.")
        alias = next(
            (candidate for candidate in longest_first if rest.startswith(f"{candidate}.")), rest.partition(".")[0]
        )
        properties[name] = alias, rest.removeprefix(alias).removeprefix(".")
    return properties
