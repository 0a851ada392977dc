"""The classes of the data files take no value for another one that looks like it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import TypeAdapter

from benchmarks.emulation.profile import Profiles
from tuning.catalogue.loader import Catalogue
from tuning.configs.presets import Preset
from tuning.published.loader import Whitepaper
from tuning.study_templates.loader import StudyTemplate

FORMS = [Catalogue, Preset, StudyTemplate, Whitepaper, Profiles]
NOT_READ = ("serialization", "metadata")


def parts(form: type) -> Iterator[dict[str, Any]]:
    """Every schema by which pydantic's core reads the values of a class."""
    whole: dict[str, Any] = dict(TypeAdapter(form).core_schema)
    named = {one["ref"]: one for one in whole.get("definitions", ())}
    waiting: list[Any] = [whole.get("schema", whole) if named else whole]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if part.get("type") == "definition-ref":
                waiting.append(named.pop(part["schema_ref"], {}))
            elif "type" in part:
                yield part
            waiting += [inner for key, inner in part.items() if key not in NOT_READ]
        elif isinstance(part, list | tuple):
            waiting += part


@pytest.mark.parametrize("form", FORMS)
def test_numbers_and_switches_are_strict(form: type) -> None:
    scalars = {"int", "float", "bool"}
    lax = [part for part in parts(form) if part["type"] in scalars and not part.get("strict")]
    assert not lax, '"5" or yes would be read as 5 or True: use StrictInt, Number, StrictBool'


@pytest.mark.parametrize("form", FORMS)
def test_unknown_keys_are_refused_everywhere(form: type) -> None:
    classes = [part for part in parts(form) if part["type"] == "dataclass"]
    assert classes
    for part in classes:
        assert part["config"]["extra_fields_behavior"] == "forbid", part["cls"]
