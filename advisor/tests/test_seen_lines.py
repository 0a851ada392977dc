"""Functions that note their lines say what a tracer says."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from coverage.parser import PythonParser

from advisor.tests.seen_lines import watch

SOURCE = '''
from __future__ import annotations

import functools
from contextlib import contextmanager
from dataclasses import dataclass

LATE = 1
ALIKE = [lambda: "left", lambda: "right"]


def noted(function):
    @functools.wraps(function)
    def call(*arguments):
        return function(
            *arguments,
        )

    return call


@noted
@noted
def branches(number):
    """Stays a docstring."""
    if number > 2:
        found = "many"
    elif number > 1:
        found = "two"
    else:
        found = "few"
        if not number:
            return None
    for _ in range(number):
        if number == 2:
            break
    else:
        found += "!"
    while number > 1:
        number -= 1
        continue
    return (
        found,
        branches.__doc__,
    )


@dataclass
class Thing:
    size: int = 1

    @property
    def half(self):
        return self.size / 2

    @staticmethod
    def failing(what):
        global LATE
        try:
            if what is not None:
                raise what("on purpose")
            LATE += 1
        except (
            KeyError,
            IndexError,
        ):
            return "caught"
        else:
            return "nothing"
        finally:
            LATE += 1

    def made(self, words):
        "One line."
        count = 0

        @noted
        def add(number):
            nonlocal count
            count += number

        class Inner(Thing):
            @property
            def half(self):
                return super().half + count

        def unused():
            return 1

        for word in words:
            match word:
                case {"add": number}:
                    add(number)
                case [_, *_]:
                    add(
                        1 if word else 2,
                    )
        return Inner(2).half, [one for one in words if (lambda: one)()]


@contextmanager
def held():
    yield 1
    return


async def waiting():
    return [one async for one in counting()]


async def counting():
    yield 3


def never():
    with held():
        pass
    yield from ()


def used(maybe=None):
    with held() as one:
        assert one == 1, "a text"
    if maybe: return
    return lambda: (
        LATE
    )
'''


def run(module: Any) -> list[Any]:
    found = [module.branches(number) for number in (1, 2)]
    found += [module.Thing.failing(KeyError), module.Thing(3).half]
    found.append(module.Thing().made([{"add": 2}, [1]]))
    try:
        module.waiting().send(None)
    except StopIteration as done:
        found.append(done.value)
    return [*found, module.used()() > 1]


def imported(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[path.stem] = module  # where dataclasses look for it
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[path.stem]
    return module


def test_what_is_noted_is_what_a_tracer_sees(tmp_path: Path) -> None:
    path = tmp_path / "sample_of_lines.py"
    path.write_text(SOURCE)
    reached: set[int] = set()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != str(path):
            return None
        if event == "line":
            reached.add(frame.f_lineno)
        return trace

    traced, watched = imported(path), imported(path)
    usual = sys.gettrace()
    sys.settrace(trace)
    try:
        answers = run(traced)
    finally:
        sys.settrace(usual)

    seen = watch([watched])[str(path)]
    assert not any(seen)
    assert run(watched) == answers
    assert answers[0] == ("few!", "Stays a docstring.")
    parser = PythonParser(SOURCE)
    parser.parse_source()
    noted = {line for line, byte in enumerate(seen) if byte}
    assert parser.first_lines(reached) & parser.statements == noted & parser.statements
    assert noted <= parser.first_lines(range(len(seen)))
    assert noted >= lines_with("few", "two", "caught", "def unused")
    assert not noted & lines_with("many", "nothing", "return 1", "pass")


def lines_with(*texts: str) -> set[int]:
    lines = enumerate(SOURCE.splitlines(), 1)
    return {number for number, line in lines if any(text in line for text in texts)}


def test_lambdas_and_generators_are_what_they_were(tmp_path: Path) -> None:
    path = tmp_path / "sample_of_lines.py"
    path.write_text(SOURCE)
    watched = imported(path)
    seen = watch([watched])[str(path)]
    assert [one() for one in watched.ALIKE] == ["left", "right"]
    watched.never()  # a generator that nobody asks
    assert not any(seen)
    assert watched.branches(3)[0] == "many!"
    assert {line for line, byte in enumerate(seen) if byte} >= lines_with("many")
