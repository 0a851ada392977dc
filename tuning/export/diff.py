"""The user's own my.cnf with the recommendation applied, and the changes as a patch."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field

from benchmarks.servers.option_file import option_value
from tuning.catalogue.knob import Durability
from tuning.configs.effective.durability import losses, may_lose
from tuning.configs.effective.readback import effective_values
from tuning.configs.files.cnf import without_comment
from tuning.configs.knobs import cnf_line, cnf_value
from tuning.configs.values import readable_value, same
from tuning.export.comments import CNF, comment, item
from tuning.export.current import CurrentLine, all_lines, current_lines
from tuning.export.facts import ExportFacts
from tuning.export.header import header, left_behind
from tuning.export.lines import default_of, lines_of
from tuning.export.merged import merge
from tuning.export.safety import require_acknowledged
from tuning.export.words import about_in_short

FILE_NAME = "my.cnf"
_MAX_COMMENT = 1000  # characters, of at most 4 bytes


def render_diff(
    facts: ExportFacts, current: bytes, *, acknowledged: Durability = Durability.D0
) -> str:
    """A unified diff from `current` to the new file, after comments that `patch` skips.

    Without a hunk there is nothing to change. Raises TuningError for what was not acknowledged,
    InvalidConfig if the file cannot be read, is not UTF-8 or includes others.
    """
    require_acknowledged(facts, acknowledged)
    had = current_lines(current, facts.server)
    old, new = _lines(current.decode()), _lines(patched(facts, current, had))
    merged = merge(facts, had)
    own = [
        f"WARNING: your own {may_lose(name, value, lost, ', which is kept,')}."
        for name, (value, lost) in merged.unsafe.items()
    ]
    text = [*header(facts, "Changes to your my.cnf recommended", own=own)]
    if merged.refused:
        text += [CNF, *comment("WARNING: with your own lines the server changes by itself:")]
        text += [line for reason in merged.refused for line in item(reason)]
    if merged.out:
        text += [CNF, *comment("Removed from your file because of the recommended lines:")]
        for name, reason in merged.out.items():
            text += item(f"{name} ({reason})")
    if kept := list(_kept(facts, {n: one for n, one in had.items() if n not in merged.out})):
        text += [CNF, *comment("Unchanged in your file, although measured with other values:")]
        text += [line for note in kept for line in item(note)]
    if left := left_behind(facts):
        text += [CNF, *comment("In the original config, but not in this file:"), *left]
    hunks = list(difflib.unified_diff(old, new, FILE_NAME, FILE_NAME))
    if not hunks:
        text += [CNF, *comment("Your file has all recommended values: nothing to change.")]
    return "\n".join(text) + "\n" + "".join(_whole(hunk) for hunk in hunks)


@dataclass
class _Edits:
    """New lines by the index (from 0) of the line they replace, and lines to add."""

    changed: dict[int, list[str]] = field(default_factory=dict)
    added: list[str] = field(default_factory=list)


def patched(facts: ExportFacts, current: bytes, had: dict[str, CurrentLine]) -> str:
    """`current` with the recommended values; everything else is unchanged, byte for byte."""
    lines = _lines(current.decode())
    edits = _Edits()
    for line in lines_of(facts):
        found = had.get(line.name)
        if found is not None and found.value != line.value:
            index = found.setting.line - 1
            was = f"Was {found.setting.value}." if found.setting.value is not None else ""
            said = comment(f"{was} {about_in_short(line, facts)}")
            value = option_value(cnf_value(line.name, line.value, facts.server))
            edits.changed[index] = [*said, _rewritten(lines[index], found, line.name, value)]
        elif found is None and line.written:
            edits.added += [
                *comment(about_in_short(line, facts)),
                cnf_line(line.name, line.value, facts.server),
            ]
    out = merge(facts, had).out
    for found in all_lines(current, facts.server):
        if found.knob.name in out:
            index = found.setting.line - 1
            why = comment(f"Removed. {out[found.knob.name]}.")
            edits.changed[index] = [*why, _commented(lines[index])]
    return "".join(_applied(lines, edits, facts))


def _applied(lines: list[str], edits: _Edits, facts: ExportFacts) -> Iterator[str]:
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    added = edits.added and [
        *comment(f"Added by the MySQL OLTP tuning advisor, study {facts.study}, {facts.date}"),
        *edits.added,
    ]
    add_after = _end_of_group(lines)
    for index, line in enumerate(lines):
        ending = line[len(line.rstrip("\r\n")) :]
        for new in edits.changed.get(index, [])[:-1]:
            yield new + end
        yield edits.changed[index][-1] + ending if index in edits.changed else line
        if added and index == add_after:
            yield "" if ending else end
            yield from (new + end for new in added)
    if added and add_after is None:
        if lines:
            yield end if lines[-1].endswith("\n") else end + end
        yield from (new + end for new in ("[mysqld]", *added))


def _end_of_group(lines: list[str]) -> int | None:
    """The index of the last option (or the header) in the last [mysqld]; None without one."""
    found: int | None = None
    inside = False
    for index, line in enumerate(lines):
        text = line.removeprefix("\ufeff").strip()
        if text.startswith("["):
            inside = text[1:].partition("]")[0].rstrip() == "mysqld"
        if inside and text and text[0] not in "#;":
            found = index
    return found


def _rewritten(old: str, found: CurrentLine, name: str, value: str) -> str:
    """The line with the new value; indent, spelling of the name and comment are kept."""
    whole = old.rstrip("\r\n")
    body, _ = without_comment(whole)
    rest = whole[len(body) :]
    tail = body[len(body.rstrip()) :] + rest
    if found.setting.name != name or found.setting.value is None:
        indent = body[: len(body) - len(body.lstrip())]
        return f"{indent}{name} = {value}{tail}"
    spelled, _, behind = body.partition("=")
    gap = behind[: len(behind) - len(behind.lstrip())] if behind.strip() else " "
    return f"{spelled}={gap}{value}{tail if behind.strip() else rest}"


def _commented(line: str) -> str:
    """The line as a comment, cut so that no part beyond 4 KiB is read as an option."""
    return f"# {line.rstrip()}"[:_MAX_COMMENT]


def _kept(facts: ExportFacts, had: dict[str, CurrentLine]) -> Iterator[str]:
    """Other settings of the file that differ from those of the measured server."""
    names = [name for name in had if name not in facts.knobs]
    shown = effective_values(names, facts.candidate_variables, facts.server)
    set_there = {name: line.value for name, line in had.items() if line.value is not None}
    unsafe = losses({**set_there, **facts.knobs}, facts.server)
    for name in names:
        measured = shown.get(name) or default_of(name, facts)
        value = had[name].value or had[name].setting.value
        if measured is not None and value is not None and same(measured, value):
            continue
        knob = had[name].knob
        was = readable_value(knob, measured) if measured else "the server's default"
        given, loses = unsafe.get(name, (None, ""))
        warning = f"; WARNING: it may lose {loses} ({given})" if given else ""
        text = name if value is None else f"{name} = {readable_value(knob, value)}"
        yield f"{text} (measured with {was}){warning}"


def _lines(text: str) -> list[str]:
    """The lines as the server and `patch` see them, each with its end."""
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _whole(line: str) -> str:
    """A line of a diff, with the marker for a file that does not end with a newline."""
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
