"""The pages hold together: links, names of files, commands and decisions exist, and lines are short enough to read."""

from __future__ import annotations

import ast
import logging
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import markdown  # type: ignore[import-untyped]
import pytest

from ignite_kafka import events
from ignite_kafka.cli.commands import COMMANDS, parse
from ignite_kafka.events import EVENTS, Event

ROOT = Path(__file__).parents[2]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
WIDTH = 120
# a file in a code span is named from one of these folders
BASES = [ROOT, *(ROOT / name for name in ("spark_apps", "spark_apps/ignite_kafka", "airflow_provider_ignite_kafka", "tests", "tests/unit"))]
TOPS = ("spark_apps", "airflow_provider_ignite_kafka", "backlog-service", "tests", "tools", "benchmarks", "dags")
# names in code spans that look like dotted names of the packages: headers of Kafka records, metrics, the library's archive
NOT_PYTHON = {"ignite_kafka.format", "ignite_kafka.errors.cache", "ignite_kafka.errors.topic", "ignite_kafka.zip"}
NOT_PYTHON |= {
    f"ignite_kafka.{metric}" for metric in ("records", "bytes", "skipped", "dead_letters", "events", "lag", "records.nightly.flights")
}
NOT_PYTHON |= {f"ignite_kafka.version.{header}" for header in ("order", "cluster", "rank", "rule", "sender")}
PACKAGES = {"ignite_kafka": ROOT / "spark_apps", "airflow_provider_ignite_kafka": ROOT}

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


def prose(page: Path) -> Iterator[tuple[int, str]]:
    """Number and text of each line outside code blocks."""
    fenced = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if re.match(r"\s*```", line):
            fenced = not fenced
        elif not fenced:
            yield number, line


def text_of(page: Path) -> str:
    return "\n".join(line for _, line in prose(page))


def spans(page: Path) -> set[str]:
    """Code spans of a page; a span may go over the end of a line."""
    return {" ".join(span.split()) for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", text_of(page))}


def anchor(heading: str) -> str:
    """The anchor of a heading, as GitHub and MkDocs make it."""
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading.strip().lower()))


def anchors(page: Path) -> set[str]:
    """Anchors of the headings of a page, and those that it names."""
    headings = {anchor(line.lstrip("#")) for _, line in prose(page) if line.startswith("#")}
    return headings | set(re.findall(r'<a id="([\w-]+)"></a>', text_of(page)))


@pages
def test_relative_links_and_their_anchors_exist(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, fragment = target.partition("#")
        linked = page.parent / path if path else page
        assert linked.exists(), target
        assert not fragment or fragment in anchors(linked), target


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent != ROOT], ids=lambda page: page.stem)
def test_pages_of_the_site_link_to_nothing_outside_of_it(page: Path) -> None:
    links = [target for target in re.findall(r"\]\(([^)\s#]+)", text_of(page)) if not re.match(r"[a-z]+:", target)]
    assert [link for link in links if ROOT / "docs" not in (page.parent / link).resolve().parents] == []


def test_pages_that_messages_and_comments_name_exist() -> None:
    files = [file for top in TOPS for kind in ("*.py", "*.java") for file in (ROOT / top).rglob(kind) if file.name != "test_docs.py"]
    named = {target for file in files for target in re.findall(r"docs/[\w./-]+\.md(?:#[\w-]+)?", file.read_text())}
    assert len(named) > 10
    wrong = set()
    for target in named:
        path, _, fragment = target.partition("#")
        if not (ROOT / path).exists() or (fragment and fragment not in anchors(ROOT / path)):
            wrong.add(target)
    assert wrong == set()


@pages
def test_lines_of_prose_are_short(page: Path) -> None:
    long = [number for number, line in prose(page) if len(line) > WIDTH and not line.lstrip().startswith("|") and "](" not in line]
    assert long == [], f"lines of more than {WIDTH} characters"


@pages
def test_lists_and_tables_begin_after_a_blank_line(page: Path) -> None:
    """Without it the site shows a list as running text, unlike GitHub."""
    item = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+\S")
    wrong, before, in_list = [], "", False
    for number, line in prose(page):
        starts = (item.match(line) and not in_list) or (line.startswith("|") and not before.startswith("|"))
        if starts and before.strip() and not before.startswith("#"):
            wrong.append(number)
        in_list = bool(line.strip()) and (in_list or bool(item.match(line)))
        before = line
    assert wrong == []


@pages
def test_tables_of_a_page_are_tables_on_the_site(page: Path) -> None:
    """A table without a blank line before it, or whose lines have other numbers of cells, is text with bars."""
    made = markdown.markdown(page.read_text(), extensions=["tables", "attr_list", "admonition", "pymdownx.superfences"])
    outside_code = re.sub(r"<pre>.*?</pre>", "", made, flags=re.DOTALL)
    assert re.findall(r"^(?:<p>)?\|.*$", outside_code, flags=re.MULTILINE) == []
    lines = [line for _, line in prose(page) if line.startswith("|")]
    cells = [len(re.split(r"(?<!\\)\|", line.strip())) for line in lines]
    heads = [at - 1 for at, line in enumerate(lines) if re.fullmatch(r"\|(?:\s*:?-+:?\s*\|)+", line)]
    for first, end in pairwise([*heads, len(lines)]):
        assert set(cells[first:end]) == {cells[first]}, lines[first]


@pages
def test_files_and_folders_in_code_spans_exist(page: Path) -> None:
    missing = {span for span in spans(page) if re.fullmatch(r"[\w./-]*\w\.(?:py|java)(?:::\w+)?|\w[\w./-]*/", span) and not _exists(span)}
    assert missing == set()


def _exists(span: str) -> bool:
    """Whether a file or folder exists, and the function that is named behind ``::``."""
    path, _, function = span.partition("::")
    found = [base / path for base in BASES] if "/" in path else [file for top in TOPS for file in (ROOT / top).rglob(path)]
    return any(file.exists() and (not function or f"def {function}(" in file.read_text()) for file in found)


@pages
def test_dotted_names_in_code_spans_exist(page: Path) -> None:
    names = {name for span in spans(page) for name in re.findall(r"(?<![\w/.-])(?:airflow_provider_)?ignite_kafka(?:\.\w+)+", span)}
    assert {name for name in names - NOT_PYTHON if not _defined(name)} == set()


def _defined(name: str) -> bool:
    """Whether a dotted name is a module, or a name that a module defines at its top."""
    parts = name.split(".")
    path = PACKAGES[parts[0]] / parts[0]
    for at, part in enumerate(parts[1:], 1):
        if (path / part).is_dir():
            path /= part
        elif (module := path / f"{part}.py").exists():
            return at == len(parts) - 1 or parts[at + 1] in _names(module)
        else:
            return part in _names(path / "__init__.py")
    return True


def _names(module: Path) -> set[str]:
    tree = ast.parse(module.read_text())
    defined = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    defined |= {target.id for node in tree.body if isinstance(node, ast.Assign) for target in node.targets if isinstance(target, ast.Name)}
    return defined | {alias.asname or alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}


@pages
def test_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {match for span in spans(page) for match in re.findall(r"^make ([a-z-]+)", span)}
    assert named <= targets


@pages
def test_commands_exist(page: Path) -> None:
    commands = {row.path.partition(" ")[0] for row in COMMANDS}
    named = set(re.findall(r"(?:^|`|bin/)ignite-kafka ([a-z]+(?:-[a-z]+)*)\b", page.read_text(), re.MULTILINE))
    assert named <= commands


def test_the_commands_of_the_page_for_recovery_are_parsed() -> None:
    given = [span for span in spans(ROOT / "docs" / "recover.md") if re.match(r"ignite-kafka (\S+ )+", span)]
    assert len(given) > 8
    for span in given:
        line = span.replace("CLUSTERS", "--kafka HOST:9092 --ignite HOST:10800").replace("[PARTITION]", "7")
        parse(line.split()[1:])  # it exits with a message if it cannot


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda path: path.stem[:4])
def test_each_decision_has_a_status_and_is_in_the_index(decision: Path) -> None:
    title, _, status, *_ = decision.read_text().splitlines()
    assert title.startswith(f"# {decision.stem[:4]}: ")
    found = re.match(r"Status: (accepted|superseded by \[\d{4}\]\(\S+\)), (\d{4}-\d{2}-\d{2})", status)
    assert found, status
    cell = f"| [{decision.stem[:4]}]({decision.name}) |"
    (row,) = [line for line in (decision.parent / "README.md").read_text().splitlines() if line.startswith(cell)]
    assert f"| {found[2]} | {found[1]}" in row


def test_the_page_for_recovery_has_each_warning_and_error() -> None:
    page = (ROOT / "docs" / "recover.md").read_text()
    listed = {int(number) for number in re.findall(r"^\| (15\d{3}) \|", page, re.MULTILINE)}
    assert listed == {event.id for event in EVENTS.values() if event.severity > logging.INFO}


def test_each_event_is_emitted() -> None:
    code = "\n".join(
        file.read_text()
        for package in PACKAGES
        for file in (PACKAGES[package] / package).rglob("*.py")
        if file.stem not in ("events", "event_descriptions")
    )
    emitted = {value.id for name, value in vars(events).items() if isinstance(value, Event) and re.search(rf"\b{name}\b", code)}
    assert EVENTS.keys() - emitted == set()


def test_the_pages_are_found() -> None:
    assert len(PAGES) > 30
    assert len(DECISIONS) > 20
