"""Rules of published advice: read from rule_sets.yaml, evaluated, and made into candidates."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic.dataclasses import dataclass

from benchmarks.counted import counted, percent
from benchmarks.datafiles import STRICT, Named, read_data_file
from benchmarks.storage.human import human_bytes
from tuning.catalogue.facts import Name
from tuning.catalogue.knob import Kind
from tuning.catalogue.loader import load_catalogue
from tuning.configs.candidates import PlannedCandidate, plan_proposed
from tuning.configs.situation import Situation
from tuning.configs.variables import POOL
from tuning.proposals.draft import Draft

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


def evaluate(text: str, facts: Facts) -> Any:
    """Return the value of an expression.

    Raises UnknownFact; for a wrong file SyntaxError, KeyError or ValueError.
    """
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


HERE = Path(__file__).resolve().parent

#: A number, a word of a variable (ON, MINIMAL) or an expression.
Expression = Annotated[str, BeforeValidator(lambda written: f"{written}")]
Phrase = Annotated[str, Field(min_length=3)]


@dataclass(frozen=True, config=STRICT)
class Rule:
    """A line of advice with its reason, a plain sentence without a full stop, and its source.

    It sets one variable: `set`, the buffer pool (`pool`, within the memory) or the redo log
    (`redo`, all its files). It says nothing where `when` is not true or a fact that it needs is
    unknown.
    """

    because: Phrase
    source: Phrase
    set: Name = ""
    to: Expression = "0"
    pool: Expression | None = None
    redo: Expression | None = None
    when: Expression = "1"

    def __post_init__(self) -> None:
        if bool(self.set) + (self.pool is not None) + (self.redo is not None) != 1:
            raise ValueError("must have exactly one of `set`, `pool` and `redo`")
        if self.set and self.set not in load_catalogue().knobs:
            raise ValueError(f"{self.set}: not a variable of the catalogue")

    def apply(self, draft: Draft) -> None:
        """Set the variable in the draft, if the rule has something to say there."""
        try:
            if evaluate(self.when, draft.fact):
                self._set(draft)
        except UnknownFact:
            return

    def _set(self, draft: Draft) -> None:
        if self.pool is not None:
            size = draft.pool_within_memory(evaluate(self.pool, draft.fact))
            draft.set(POOL, size, self._reason(draft, size), self.source)
        elif self.redo is not None:
            wanted = evaluate(self.redo, draft.fact)
            draft.set_redo(wanted, self._reason(draft, wanted), self.source)
        else:
            kind = load_catalogue().knobs[self.set].kind
            is_number = kind in (Kind.INT, Kind.BYTES, Kind.FLOAT)
            value = evaluate(self.to, draft.fact) if is_number else self.to
            draft.set(self.set, value, self._reason(draft, value), self.source)

    def _reason(self, draft: Draft, value: Any) -> str:
        return filled(self.because, lambda name: value if name == "value" else draft.fact(name))


@dataclass(frozen=True, config=STRICT)
class RuleSet:
    """Rules in the order in which they are applied; `source` says where they were read."""

    name: str
    title: Phrase
    source: Phrase
    rules: Annotated[tuple[Rule, ...], Field(min_length=1)]


@dataclass(frozen=True, config=STRICT)
class _Advice:
    sets: Annotated[Named[str, RuleSet], Field(min_length=1)]


@cache
def rule_sets() -> Mapping[str, RuleSet]:
    """Return all sets of rules by name."""
    return read_data_file(HERE / "rule_sets.yaml", _Advice).sets


def plan_proposal(name: str, situation: Situation) -> PlannedCandidate:
    """Plan the config that a set of rules advises there, with a reason as a note on each line.

    What the gate does not let through is a candidate with `left_out`.
    """
    found = rule_sets()[name]
    draft = Draft(situation)
    for rule in found.rules:
        rule.apply(draft)
    said = draft.worth_saying()
    planned = plan_proposed(
        name,
        {one: draft.knobs[one] for one in said},
        situation.target,
        source=f"{found.title}: {found.source}.",
        host=situation.host,
    )
    reasons = (*(draft.notes[one] for one in said), *draft.left_out)
    if planned.left_out:
        return replace(planned, knobs={}, notes=reasons, checks=())
    return replace(planned, notes=(*reasons, *planned.notes))


def plan_proposals(names: Iterable[str], situation: Situation) -> Mapping[str, PlannedCandidate]:
    """Plan several proposals; return them by name."""
    return {name: plan_proposal(name, situation) for name in names}
