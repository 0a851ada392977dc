"""Expressions of rule files: arithmetic, comparisons and `a if b else c` over named facts.

`min(2 * data, 0.75 * memory)` is a value, `ssd and innodb_io_capacity <= 200` a condition, and
"{size(data)} of data" a sentence with a value in it. K, M and G are 1024, 1024**2 and 1024**3.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable
from typing import Any

from benchmarks.counted import counted, percent
from benchmarks.storage.human import human_bytes

#: Returns the fact of a name, None if it is unknown.
Facts = Callable[[str], Any]

_UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3}
_IN_TEXT = re.compile(r"\{([^{}]+)\}")


class UnknownFact(LookupError):
    """An expression needs a fact that is not known here, so its rule says nothing."""


def two_figures(value: float) -> int:
    """Round to two figures: 15,000 for 15,432."""
    unit = int(10 ** max(len(f"{value:.0f}") - 2, 0))
    return round(value / unit) * unit


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "ceil": math.ceil,
    "two_figures": two_figures,
    "size": lambda value: human_bytes(int(value)),
    "percent": percent,
    "number": lambda value: f"{value:,.0f}",
    "decimal": lambda value: f"{value:.1f}",
    "counted": counted,
}
_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Not: operator.not_,
}


def checked(text: str) -> str:
    """Return an expression that can be parsed. Raises ValueError."""
    try:
        ast.parse(text, mode="eval")
    except SyntaxError as error:
        raise ValueError(f"{text!r} is not an expression: {error.msg}") from error
    return text


def evaluate(text: str, facts: Facts) -> Any:
    """Return the value of an expression. Raises UnknownFact and, for a wrong file, ValueError."""
    return _value(ast.parse(text, mode="eval").body, facts)


def filled(text: str, facts: Facts) -> str:
    """Return the sentence with the value of each {expression}. Raises like `evaluate`."""
    return _IN_TEXT.sub(lambda match: f"{evaluate(match[1], facts)}", text)


def _value(node: ast.expr, facts: Facts) -> Any:
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(name):
            found = _UNITS[name] if name in _UNITS else facts(name)
            if found is None:
                raise UnknownFact(name)
            return found
        case ast.BinOp(left, op, right) | ast.Compare(left, [op], [right]):
            return _OPERATORS[type(op)](_value(left, facts), _value(right, facts))
        case ast.UnaryOp(op, operand):
            return _OPERATORS[type(op)](_value(operand, facts))
        case ast.BoolOp(ast.And(), parts):
            return all(_value(part, facts) for part in parts)
        case ast.IfExp(test, body, orelse):
            return _value(body if _value(test, facts) else orelse, facts)
        case ast.Call(ast.Name(name), arguments, []):
            return _FUNCTIONS[name](*(_value(one, facts) for one in arguments))
    raise ValueError(f"not possible in an expression: {ast.unparse(node)}")
