"""Functions that settings name: marked ones alone, each for its own use."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ignite_kafka import filter_function, transform_function
from ignite_kafka.common.user_functions import FILTER, TRANSFORM, user_function
from ignite_kafka.errors import SettingsError
from ignite_kafka.settings.source import SourceSettings


class Marked:
    """A callable with an attribute for every name, as mocks and proxies have."""

    def __getattr__(self, name: str) -> Any:
        return True

    def __call__(self, batch: Any) -> Any:
        return batch


@pytest.fixture(autouse=True)
def acme(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("acme_rules")
    module.__dict__.update(
        kept=filter_function(lambda batch: [True]),
        changed=transform_function(lambda batch: batch),
        both=filter_function(transform_function(lambda batch: batch)),
        unmarked=lambda batch: [True],
        number=1,
        proxy=Marked(),
    )
    monkeypatch.setitem(sys.modules, "acme_rules", module)
    return module


def test_a_function_is_found_by_its_name_for_the_use_that_it_is_marked_for(acme: ModuleType) -> None:
    assert user_function("acme_rules:kept", FILTER) is acme.kept
    assert user_function("acme_rules:changed", TRANSFORM) is acme.changed
    assert user_function("acme_rules:both", FILTER) is user_function("acme_rules:both", TRANSFORM) is acme.both


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("acme_rules:kept", TRANSFORM), ("acme_rules:changed", FILTER), ("acme_rules:unmarked", FILTER), ("acme_rules:unmarked", TRANSFORM),
        ("acme_rules:number", FILTER), ("acme_rules:proxy", FILTER), ("os:system", FILTER), ("pydoc:pipepager", TRANSFORM),
        ("subprocess:getoutput", TRANSFORM), ("builtins:exec", TRANSFORM), ("importlib.util:find_spec", FILTER),
        ("ignite_kafka:run_connector", TRANSFORM), ("numpy:asarray", FILTER),
    ],
)  # fmt: skip
def test_no_other_function_is_called(name: str, use: str) -> None:
    with pytest.raises(SettingsError, match=f"{use} names {name}, which is no {use} function") as caught:
        user_function(name, use, setting="s")
    assert caught.value.where == {"setting": "s"}
    assert f"@ignite_kafka.{use}_function" in (caught.value.remedy or "")


def test_modules_of_the_standard_library_are_not_imported() -> None:
    """antigravity opens a browser when it is imported, this prints, idlelib.idle opens a window."""
    for module in ("antigravity", "this", "idlelib.idle"):
        sys.modules.pop(module, None)
        with pytest.raises(SettingsError):
            user_function(f"{module}:anything", TRANSFORM)
        assert module not in sys.modules


@pytest.mark.parametrize("name", ["acme_rules:gone", "no_such_module:f", ":f", "acme_rules", ".relative:f"])
def test_a_name_that_leads_to_nothing_is_named(name: str) -> None:
    with pytest.raises(SettingsError, match="which cannot be imported here"):
        user_function(name, TRANSFORM)


def test_settings_of_a_transform_run_no_command(tmp_path: Path) -> None:
    from ignite_kafka.convert import check_transforms

    file = tmp_path / "made by the command"
    attack = {"t": {"type": "pydoc:pipepager", "cmd": f"id > '{file}'"}}
    for given in (
        {"transforms": ["t"], "transform_config": attack},
        {"overrides": {"a.*": {"transforms": ["t"], "transform_config": attack}}},
    ):
        with pytest.raises(SettingsError, match="pydoc:pipepager, which is no transform function"):
            check_transforms(SourceSettings.from_dict({"name": "c", **given}))
    assert not file.exists()
