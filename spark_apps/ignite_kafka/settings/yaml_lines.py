"""YAML documents with the line number of each key, for error messages.

All values but `true`, `false` and nulls are texts as written. So ``2024`` or ``no`` is a text even without quotes;
the types of settings parse numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from ..errors import SettingsError

Path = tuple[str | int, ...]
_TAG = "tag:yaml.org,2002:"
_NULLS = ("", "~", "null", "Null", "NULL")
_BOOLEANS = {"true": True, "false": False}
_MAX_NODES = 100_000
_BEGIN = re.compile(r"---(\s|$)")


@dataclass(frozen=True)
class Document:
    """A document of a YAML file, with the line number of each key.

    :param line: number of the document's first line, from 1.
    :param lines: the line of each key and item by its path, such as ``("config", "topic_prefix")``.
    """

    line: int
    value: Any
    lines: Mapping[Path, int]


@dataclass(frozen=True)
class BadDocument:
    """A YAML document that cannot be read; later documents of the file can.

    :param error: error with the line number.
    """

    line: int
    error: SettingsError


def documents(content: bytes, file: str) -> Iterator[Document | BadDocument]:
    """Yield the documents of a YAML file; an unreadable one is a BadDocument, an empty one is omitted.

    A document is bad if it is no YAML, or has a key twice, a tag, too many nodes, or an alias within its own node.

    :raises SettingsError: the file is no text of YAML, or nested too deeply.
    """
    try:
        text = content.decode("utf-8-sig")
        last = -1
        try:
            for node in yaml.compose_all(text, Loader=yaml.SafeLoader):
                last = node.start_mark.line
                yield from _read_document(node, 0, file)
        except yaml.MarkedYAMLError:
            yield from _compose_each(text, last, file)
    except RecursionError:
        raise SettingsError("the file is nested too deeply", "Write at most 100 levels", file=file) from None
    except UnicodeDecodeError as error:
        raise SettingsError("the file is not UTF-8", "Save it as UTF-8", file=file) from error
    except yaml.YAMLError as error:
        raise SettingsError(f"the file is not YAML: {' '.join(str(error).split())}", file=file) from error


def _compose_each(text: str, after: int, file: str) -> Iterator[Document | BadDocument]:
    """Parse each document of a faulty file separately, because PyYAML reads nothing after an error.

    :param after: first line, counted from 0, of the last document that was already read; -1: none was.
    """
    lines = text.splitlines(keepends=True)
    begins = [number for number, line in enumerate(lines) if number == 0 or _BEGIN.match(line)]
    for begin, end in zip(begins, [*begins[1:], len(lines)], strict=True):
        if end <= after + 1:
            continue
        try:
            node = yaml.compose("".join(lines[begin:end]), Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = min(begin + mark.line, end - 1) + 1 if mark else None
            yield BadDocument(begin + 1, SettingsError(f"the file is not YAML: {error.problem}", file=file, line=line))
        else:
            if node is not None and begin + node.start_mark.line > after:
                yield from _read_document(node, begin, file)


def _read_document(node: Any, begin: int, file: str) -> Iterator[Document | BadDocument]:
    """Yield one document with its value; nothing for an empty document.

    :param begin: number of lines before the node's text.
    """
    reader = _ValueReader(file, begin)
    line = begin + node.start_mark.line + 1
    try:
        value = reader.value(node, ())
    except SettingsError as error:
        yield BadDocument(line, error)
        return
    if value is not None:
        yield Document(line, value, reader.lines)


class _ValueReader:
    """Reader that turns YAML nodes into values and records the line of each.

    :param begin: see :func:`_read_document`.
    """

    def __init__(self, file: str, begin: int) -> None:
        self.lines: dict[Path, int] = {}
        self._file = file
        self._begin = begin
        self._left = _MAX_NODES

    def value(self, node: Any, path: Path) -> Any:
        self._left -= 1
        if self._left < 0 or len(path) > 100:
            raise self._wrong("it has too many nodes, or an alias of a node in itself", node)
        self.lines.setdefault(path, self._line(node))
        if isinstance(node, yaml.MappingNode):
            return self._read_mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, number)) for number, item in enumerate(node.value)]
        if not node.tag.startswith(_TAG):
            raise self._wrong(f"the tag {node.tag} is not supported", node)
        if node.style is None and node.value in _NULLS:
            return None
        return _BOOLEANS.get(node.value.lower(), node.value) if node.style is None else node.value

    def _read_mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        own: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key, item in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self._wrong("a key is no text", key)
            if key.tag == f"{_TAG}merge":
                for source in item.value if isinstance(item, yaml.SequenceNode) else [item]:
                    mapping = self.value(source, path)
                    if not isinstance(mapping, dict):
                        raise self._wrong("`<<` merges mappings", key)
                    merged = {**mapping, **merged}
                continue
            if key.value in own:
                raise self._wrong(f"{key.value!r} is given twice", key)
            self.lines[(*path, key.value)] = self._line(key)
            own[key.value] = self.value(item, (*path, key.value))
        return {**merged, **own}

    def _wrong(self, what: str, node: Any) -> SettingsError:
        return SettingsError(f"the file cannot be read: {what}", file=self._file, line=self._line(node))

    def _line(self, node: Any) -> int:
        return int(self._begin + node.start_mark.line + 1)
