"""The options of a command from the fields of a request, and the fields from the options.

Every option is named by its field or by its `Cli` annotation, and has the field's description as
its help. The request itself reads the texts that are given.
"""

from __future__ import annotations

import os
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, BooleanOptionalAction, _ArgumentGroup
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from benchmarks.errors import ExpectedError
from tuning.errors import InvalidConfig, InvalidRequest
from tuning.requests.configs import MAX_OUTPUT_BYTES
from tuning.requests.fields import Kind, Request, Shape, shape_of


def add_request_options(
    parser: ArgumentParser | _ArgumentGroup,
    kind: type[Request],
    *,
    leave_out: Collection[str] = (),
    repeated: Collection[str] = (),
) -> None:
    """Add an option for each field of the request; `repeated`: may be given several times."""
    for name, field in kind.model_fields.items():
        shape = shape_of(name, field)
        if not shape.option or name in leave_out:
            continue
        values: dict[str, Any] = {"dest": name, "default": None, **_reading(shape)}
        text = field.description or ""
        if name in repeated or (shape.kind is Kind.TEXTS and "," not in shape.metavar):
            values |= {"action": "append", "default": []}
            text += " May be repeated."
        elif isinstance(field.default, str | int | float) and field.default != "":
            text += f" Default: {field.default}."
        parser.add_argument(f"--{shape.option}", **values, help=text.replace("%", "%%"))


def given(kind: type[Request], options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the request for which options were given."""
    return {
        name: options[name] for name in kind.model_fields if options.get(name) not in (None, [])
    }


def error_line(error: Exception, *kinds: type[Request]) -> str:
    """The error's text with the option of its field; for a refused config, every problem."""
    if isinstance(error, InvalidConfig):
        return "; ".join(map(str, error.problems))
    if isinstance(error, InvalidRequest):
        return "; ".join(f"{reason}{_option(path, kinds)}" for path, reason in error.faults)
    if isinstance(error, ExpectedError):
        return f"{error}{_option(error.field, kinds)}"
    return str(error)


def absolute_path(text: str) -> Path:
    """Return the absolute path of an option of argparse."""
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError as error:  # ~nobody
        raise ArgumentTypeError(f"{text!r}: {error}") from None


def output_file(text: str) -> Path:
    """Return the path of a file to write at the end. Refuses one that could not be written."""
    path = Path(text)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ArgumentTypeError(f"{text} is not a file path in an existing directory")
    if not os.access(path.absolute().parent, os.W_OK):
        raise ArgumentTypeError(f"{text}: its directory is not writable")
    return path


def script_output(text: str) -> str:
    """Return the output of the script of profiles from a file; `-` is stdin."""
    try:
        with sys.stdin.buffer if text == "-" else Path(text).open("rb") as file:
            return file.read(MAX_OUTPUT_BYTES + 1).decode(errors="replace")
    except OSError as error:
        raise ArgumentTypeError(f"{text}: {error.strerror}") from None


def _reading(shape: Shape) -> dict[str, Any]:
    """How argparse reads the option's value."""
    if shape.kind is Kind.FLAG:
        return {"action": BooleanOptionalAction}
    if shape.kind is Kind.NUMBER:
        return {"type": float if isinstance(shape.low, float) else int, "metavar": shape.metavar}
    if shape.kind is Kind.CHOICE:
        words = {word.lower(): word for word in shape.choices}
        return {"type": lambda text: words.get(text.lower(), text), "choices": shape.choices}
    values: dict[str, Any] = {"metavar": shape.metavar} if shape.metavar else {}
    return values | ({"type": absolute_path} if shape.kind is Kind.PATH else {})


def _option(path: str, kinds: tuple[type[Request], ...]) -> str:
    """Return the option of a field: ` (--log-dir)` for `devices[0].log_dir`, "" for none."""
    for name in reversed(re.findall(r"[a-z_]+", path)):
        for kind in kinds:
            if name in kind.model_fields:
                option = shape_of(name, kind.model_fields[name]).option
                return f" (--{option})" if option else f" ({name})"
    return f" ({path})" if path else ""
