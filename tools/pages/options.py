"""Page of the data sources' options, generated from the option tables."""

from __future__ import annotations

from ignite_kafka.datasources.option_tables import TABLES, Option, OptionTable

_HEAD = """# Options of the data sources

Spark passes option names in lower case and every value as text. An unknown option ends the read or write before a
cluster is asked; the error names the nearest option. No option may hold a secret: Spark shows options in its plans, UI
and event log. For what the data sources guarantee, see [delivery](delivery.md#dataframes).
"""
_COLUMNS = """
| option | default | allowed | meaning |
|---|---|---|---|
"""
_KAFKA = (
    "| `kafka.<name>` | none | a property of librdkafka | Any property that settings may hold, see [security]"
    "(security.md#kafka-client-properties). |\n"
)
_PROPERTIES = (
    "| `key.converter.<name>`, `value.converter.<name>` | none | a property of the converter | Its name in "
    "Kafka Connect. |\n"
)


def page() -> str:
    """Return the whole page."""
    return _HEAD + "".join(map(_format_section, TABLES))


def _format_section(table: OptionTable) -> str:
    rows = "".join(_format_row(name, option) for name, option in table.options.items())
    return (
        f"\n## {table.title}\n{_COLUMNS}{rows}"
        + (_KAFKA if table.kafka is not None else "")
        + (_PROPERTIES if table.converters else "")
    )


def _format_row(name: str, option: Option) -> str:
    cells = [f"`{name}`", _format_default(option), option.type.allowed, f"{option.help}."]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _format_default(option: Option) -> str:
    value = option.default
    if option.required or value in (None, ""):
        return "must be given" if option.required else "none"
    text = (
        ",".join(value) if isinstance(value, tuple) else str(value).lower() if isinstance(value, bool) else str(value)
    )
    return f"`{text}`"
