"""The picture of the folders: arrows are the imports, and none is drawn that follows from others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.pages import house


@pytest.fixture
def package(tmp_path: Path) -> Path:
    root = tmp_path / "app"
    for name, text in {
        "__init__.py": "",
        "errors.py": "",
        "low/__init__.py": '"""What is low."""',
        "low/one.py": "from ..errors import Wrong",
        "high/__init__.py": '"""What is :mod:`~app.high`, by | bars."""',
        "high/top.py": "def f():\n    from ..low.one import x\n    from app.errors import Wrong",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_arrows_are_the_imports_also_inside_functions(package: Path) -> None:
    assert house.arrows(package) == {"errors": set(), "low": {"errors"}, "high": {"low", "errors"}}


def test_an_arrow_that_follows_from_others_is_left_out(package: Path) -> None:
    assert house.reduced(house.arrows(package)) == {"errors": set(), "low": {"errors"}, "high": {"low"}}


def test_the_picture_has_each_folder_of_the_library() -> None:
    text = house.page()
    drawn = house.arrows(house.LIBRARY)
    assert len(drawn) > 30
    assert [folder for folder in drawn if f'["{folder}"]' not in text] == []
    assert "sink --> runtime" in text
    assert "sink --> errors" not in text


def test_each_folder_of_the_table_says_what_belongs_there(package: Path) -> None:
    assert house._table(package).splitlines()[2:] == ["| `high/` | What is `high`, by \\| bars. |", "| `low/` | What is low. |"]
