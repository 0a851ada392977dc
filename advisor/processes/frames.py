"""Memory for frames of functions that are called again and again from a great depth."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")

#: Of a frame, a pointer each: more than 256 KiB, so that Python asks for 512.
_SLOTS = 40_000


def with_room(function: Callable[P, T]) -> Callable[P, T]:
    """The function (one without defaults), whose callees have all their frames in one piece.

    Python asks the kernel for 16 KiB when a frame does not fit into the last piece of memory and
    gives them back when that frame ends. In a loop that is as deep as that it does so for each
    call: that was a fourth of the time of the page *New study*. For a frame that is larger it asks
    for more than that takes, of which the kernel gives only what is used.
    """
    plain = cast(FunctionType, function)
    code = plain.__code__.replace(co_stacksize=_SLOTS)
    made: Any = FunctionType(code, plain.__globals__, closure=plain.__closure__)
    return made
