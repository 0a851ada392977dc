"""Which lines of functions are reached, without a tracer.

Before Python 3.12 a tracer makes all code slow, Django's as well: the short tests took half as
much processor time again with one. Here functions that are imported get code that notes their
statements by itself. What runs when a module is imported is left to the tracer.
"""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from coverage import CoverageData

# A name that functions find among those of their module: a byte for each line, 1 if it was seen.
_NAME = "__seen_lines__"

#: By file, a byte for each line of the advisor's functions, 1 if it was seen; else empty.
SEEN: dict[str, bytearray] = {}


def watch(modules: Iterable[ModuleType]) -> dict[str, bytearray]:
    """Have the functions of modules note their lines from now on: by file, a byte for each line.

    A tracer says that `except` or `case` was reached where it did not match: here it has not.
    """
    seen = {}
    codes: dict[tuple[str, str, int], CodeType] = {}
    for module in modules:
        file = str(module.__file__)
        seen[file] = module.__dict__[_NAME] = bytearray(Path(file).read_bytes().count(b"\n") + 2)
        codes.update(_codes(file))
    for function in [one for one in gc.get_objects() if type(one) is FunctionType]:
        old = function.__code__
        if (new := codes.get((old.co_filename, old.co_qualname, old.co_firstlineno))) is not None:
            function.__code__ = new
    return seen


def note(traced: CoverageData) -> None:
    """Note in `SEEN` what a tracer has seen."""
    for file in traced.measured_files():
        lines = traced.lines(file) or [0]
        seen = SEEN.setdefault(file, bytearray(max(lines) + 1))
        for line in lines:
            seen[line] = 1


def _codes(file: str) -> Iterator[tuple[tuple[str, str, int], CodeType]]:
    tree = ast.parse(Path(file).read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module):
            continue
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):  # of a lambda or an expression with `if` it is none
                setattr(node, field, list(_with_notes(node, field, block)))
    todo = [compile(tree, file, "exec", dont_inherit=True)]
    for code in todo:
        # Two lambdas of a line would be one: they have no statements, and stay as they are.
        if not code.co_name.startswith("<"):
            yield (file, code.co_qualname, code.co_firstlineno), code
        todo += [one for one in code.co_consts if isinstance(one, CodeType)]


def _with_notes(node: ast.AST, field: str, block: list[ast.stmt]) -> Iterator[ast.stmt]:
    for number, statement in enumerate(block):
        lines = [statement.lineno]
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                lines += [decorator.lineno for decorator in statement.decorator_list]
            case ast.Expr(ast.Constant(str())) if number == 0:  # stays first: a docstring
                lines = []
        if number == 0 and field == "body":
            match node:
                case ast.ExceptHandler():
                    lines.append(node.lineno)
                case ast.match_case():
                    lines.append(node.pattern.lineno)
        for line in lines:
            yield _note(line, statement)
        yield statement


def _note(line: int, before: ast.stmt) -> ast.stmt:
    bytes_ = ast.Name(_NAME, ast.Load())
    target = ast.Subscript(bytes_, ast.Constant(line), ast.Store())
    note = ast.Assign([target], ast.Constant(1))
    for node in ast.walk(note):
        ast.copy_location(node, before)
    return note
