"""The page of the code's folders, with a picture of who imports whom, drawn from the imports."""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "spark_apps" / "ignite_kafka"
PROVIDER = ROOT / "airflow_provider_ignite_kafka"
Arrows = Mapping[str, Set[str]]
"""Folders, each with those that it imports; a module of the root stands for itself."""

_HEAD = """# The code's folders
An arrow means *imports*. Arrows that follow from others are left out: `sink` imports `runtime`, which imports `state`,
so none is drawn from `sink` to `state`. `tests/unit/test_folders.py` holds that no arrow points back.

This page is generated from the imports by `make pages`.
"""


def page() -> str:
    """Return the page in Markdown: a picture and a table of the library, and of the provider."""
    return "\n".join([_HEAD, _section("The library", LIBRARY), _section("The Airflow provider", PROVIDER)])


def _section(title: str, root: Path) -> str:
    where = root.relative_to(ROOT)
    return f"## {title}\n`{where}/`\n\n```mermaid\n{_picture(arrows(root))}\n```\n\n{_table(root)}\n"


def arrows(root: Path) -> Arrows:
    """Return the folders below a package's root, each with those that it imports, also inside functions and for types."""
    by_name = dict(modules(root))
    folders = {name for name, path in by_name.items() if path.name == "__init__.py"}
    drawn: dict[str, set[str]] = {}
    for module, path in by_name.items():
        if not module:
            continue
        here = folder_of(module, folders)
        there = {folder_of(target, folders) for target in imports(module, path, by_name, root.name) if target}
        drawn.setdefault(here, set()).update(there - {here})
    return drawn


def reduced(drawn: Arrows) -> Arrows:
    """Return the arrows without those that follow from others."""
    order = list(graphlib.TopologicalSorter(drawn).static_order())
    reached: dict[str, set[str]] = {}
    kept: dict[str, set[str]] = {}
    for folder in order:
        kept[folder] = set()
        reached[folder] = set()
        for target in sorted(drawn.get(folder, ()), key=order.index, reverse=True):
            if target not in reached[folder]:
                kept[folder].add(target)
                reached[folder] |= {target, *reached[target]}
    return kept


def modules(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the dotted name below a package's root, and the file, of each module; an ``__init__`` has its folder's name."""
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def folder_of(module: str, folders: Set[str]) -> str:
    """Return the folder that a module is in; of a module of the root, the module."""
    return module if module in folders else module.rpartition(".")[0] or module


def imports(module: str, path: Path, by_name: Mapping[str, Path], package: str) -> Iterator[str]:
    """Yield the modules of the same package that a module imports, also inside functions and while type checking."""
    parent = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom):
            continue
        if node.level:
            parts = parent.split(".") if parent else []
            base = [*parts[: len(parts) - node.level + 1], *(node.module.split(".") if node.module else [])]
        elif (node.module or "").partition(".")[0] == package:
            base = (node.module or "").split(".")[1:]
        else:
            continue
        for alias in node.names:
            name = ".".join([*base, alias.name])
            yield name if name in by_name else ".".join(base)


def _picture(drawn: Arrows) -> str:
    kept = reduced(drawn)
    names = {folder: folder.replace(".", "_") for folder in kept}
    lines = ["flowchart TD"]
    groups: dict[str, list[str]] = {}
    for folder in sorted(kept):
        groups.setdefault(folder.partition(".")[0], []).append(folder)
    for group, members in groups.items():
        boxes = [f'{names[member]}["{member}"]' for member in members]
        if len(members) == 1:
            lines.append(f"    {boxes[0]}")
        else:
            lines += [f"    subgraph {group}_folders[ ]", *(f"        {box}" for box in boxes), "    end"]
    for folder in sorted(kept):
        lines += [f"    {names[folder]} --> {names[target]}" for target in sorted(kept[folder])]
    return "\n".join(lines)


def _table(root: Path) -> str:
    rows = ["| folder | what belongs there |", "|---|---|"]
    for module, path in modules(root):
        if module and path.name == "__init__.py":
            text = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n\n")[0].replace("\n", " ")
            rows.append(f"| `{module.replace('.', '/')}/` | {_plain(text)} |")
    return "\n".join(rows)


def _plain(text: str) -> str:
    """Turn roles of Sphinx into code of Markdown."""
    words = text.split("`")
    for place in range(1, len(words), 2):
        words[place] = words[place].lstrip("~.").rpartition(".")[2]
    joined = "`".join(words)
    for role in (":func:", ":class:", ":mod:", ":data:"):
        joined = joined.replace(role, "")
    return joined.replace("|", "\\|")
