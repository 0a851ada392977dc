"""A data file says exactly what its class takes, or is refused with file, place and reason."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
from pydantic import StrictBool
from pydantic.dataclasses import dataclass

from benchmarks.datafiles import STRICT, Count, Frozen, Named, Number, distinct, read_data_file
from benchmarks.errors import InvalidDataFile


@dataclass(frozen=True, config=STRICT)
class Part:
    name: str
    size: Number = 0.0


@dataclass(frozen=True, config=STRICT)
class Form:
    name: str
    count: Count = 1
    is_on: StrictBool = False
    words: Annotated[tuple[str, ...], distinct()] = ()
    texts: Frozen[str, str] | None = None
    parts: Named[str, Part] | None = None


def read(tmp_path: Path, text: str) -> Form:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return read_data_file(path, Form, is_named=True)


def test_names_are_those_of_the_file_and_of_the_keys(tmp_path: Path) -> None:
    form = read(tmp_path, "parts: {a: {size: 1}, b: {size: 0.5}}\nwords: [' x ', y]")
    assert form.parts is not None
    assert (form.name, [part.name for part in form.parts.values()]) == ("mine", ["a", "b"])
    assert form.words == ("x", "y")


def test_what_was_read_cannot_be_changed(tmp_path: Path) -> None:
    form = read(tmp_path, "texts: {a: b}")
    with pytest.raises(TypeError):
        form.texts["a"] = "c"  # type: ignore[index]
    with pytest.raises(AttributeError):
        form.count = 2  # type: ignore[misc]


def test_a_whole_number_stays_whole(tmp_path: Path) -> None:
    form = read(tmp_path, f"parts: {{a: {{size: {2**64 - 1}}}}}")
    assert form.parts is not None
    assert f"{form.parts['a'].size}" == "18446744073709551615"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("count: 1\ncount: 2", "count is given twice .* line 1"),
        ("parts:\n  a: {size: 1}\n  b: {}\n  a: {}", "a is given twice .* line 2"),
        ("texts: {8.10: x}", "texts/8.1/.*: Input should be a valid string"),
        ("texts: {on: x}", "texts/1/.*: Input should be a valid string"),
        ("count: [", r"line \d"),
        ("- a", "Input should be"),
        ("cuont: 1", "cuont: is unknown"),
        ("parts: {a: {size: .nan}}", "parts/a/size/float: Input should be a finite number"),
        ("parts: {a: {size: true}}", "parts/a/size/float: Input should be a valid number"),
        ("parts: {a: {size: '1'}}", "parts/a/size/int: Input should be a valid integer"),
        ("parts: {a: }", "parts/a: Input should be"),
        ("count: '1'", "count: Input should be a valid integer"),
        ("count: 0", "count: Input should be greater than or equal to 1"),
        ("is_on: 1", "is_on: Input should be a valid boolean"),
        ("words: [2026-01-01]", "words/0: Input should be a valid string"),
        ("words: [a, b, a]", "words: a is given twice"),
        ("count: 0\nis_on: 1", "count: .*; is_on: "),
        ("words: [\x07]", "not allowed"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(
    text: str, complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidDataFile, match=rf"^mine\.yaml: .*{complaint}") as info:
        read(tmp_path, text)
    assert "\n" not in str(info.value)


def test_what_is_no_text_or_not_there_is_refused_by_name(tmp_path: Path) -> None:
    broken = tmp_path / "latin.yaml"
    broken.write_bytes(b"name: caf\xe9")
    for path in (broken, tmp_path / "absent.yaml"):
        with pytest.raises(InvalidDataFile, match=rf"^{path.name}: "):
            read_data_file(path, Form)
