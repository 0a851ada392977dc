"""The user's own my.cnf with the recommendation in it, and the changes as a diff for `patch`."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.servers.options import MAX_LINE_BYTES, option_value
from tuning.catalogue.knob import Durability
from tuning.catalogue.loader import load_catalogue
from tuning.configs.expected import Expected
from tuning.configs.parse import without_comment
from tuning.configs.price import losses, may_lose
from tuning.configs.readback import effective_values
from tuning.configs.rules import Broken, broken_rules
from tuning.configs.values import cnf_line, cnf_value, readable_value, same
from tuning.errors import TuningError
from tuning.export.facts import ExportFacts
from tuning.export.lines import Line, default_of
from tuning.export.texts import about, comment, head, not_in_the_file, sentence
from tuning.export.user_file import FileLine, UserFile, split_lines

FILE_NAME = "my.cnf"


@dataclass
class _Conflicts:
    """Lines of the user that do not go with the recommended ones.

    removed: reasons, by variable. unsafe: what kept lines may lose. refused: what the server would
    change by itself, and no removed line can help.
    """

    removed: dict[str, str] = field(default_factory=dict)
    unsafe: dict[str, tuple[Durability, str]] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)


def render_diff(facts: ExportFacts, lines: Sequence[Line], current: UserFile | None) -> bytes:
    """Return a unified diff to the patched file, after comments that `patch` skips.

    Without a hunk there is nothing to change.
    Raises TuningError: current_config_needed without a file, no_diff for a file in UTF-16.
    """
    if current is None:
        reason = "a diff needs your current my.cnf"
        raise TuningError("current_config_needed", reason, field="current")
    if current.was_utf_16:
        reason = (
            "your file is in UTF-16, which neither patch nor the server can read: take the whole "
            "my.cnf, which is in UTF-8"
        )
        raise TuningError("no_diff", reason, field="current")
    found = _conflicts(facts, lines, current)
    own = "; ".join(
        f"your own {may_lose(name, current.values[name] or '', lost, ', which is kept,')}"
        for name, lost in found.unsafe.items()
    )
    remarks = []
    if found.refused:
        remarks.append(f"WARNING: with your own lines the server changes {_all(found.refused)}")
    if current.includes:
        remarks.append("The files that it includes were not read; their lines may overrule these")
    if kept := list(_kept(facts, current, found)):
        remarks.append(f"Unchanged, although measured with other values: {_all(kept)}")
    remarks += not_in_the_file(facts, lines)
    patched = split_lines(_patched_text(facts, lines, current, found))
    hunks = list(difflib.unified_diff(current.lines, patched, FILE_NAME, FILE_NAME))
    if not hunks:
        remarks.append("Your file has all recommended values: nothing to change.")
    title = "Changes to your my.cnf recommended"
    text = [*head(facts, lines, title, own=own), *map(comment, remarks)]
    whole = "".join(f"{line}\n" for line in text).encode()
    return whole + "".join(map(_whole, hunks)).encode(current.encoding, "replace")


def render_patched(facts: ExportFacts, lines: Sequence[Line], current: UserFile) -> bytes:
    """Return the file with the recommended values; everything else is the same, byte for byte."""
    text = _patched_text(facts, lines, current, _conflicts(facts, lines, current))
    return text.encode(current.encoding, "replace")


def _patched_text(
    facts: ExportFacts, lines: Sequence[Line], current: UserFile, conflicts: _Conflicts
) -> str:
    recommended = {line.name: line for line in lines}
    last, changed = current.last, {}
    for mine in current.options:
        if (new := _changed(facts, mine, recommended, last, conflicts.removed)) is not None:
            whole = current.lines[mine.index].rstrip("\r\n")
            changed[mine.index] = [
                text
                for one in new
                for text in ([one] if isinstance(one, str) else _rewritten(whole, mine, *one))
            ]
    added = [line for line in lines if line.written and line.name not in last]
    text = [
        one
        for line in added
        for one in (comment(about(line, facts)), cnf_line(line.name, line.value, facts.server))
    ]
    if text:
        title = f"Added by the MySQL OLTP tuning advisor, study {facts.study}, {facts.date}"
        text = [comment(f"{title} {facts.study_url}"), *text]
    return "".join(_applied(current.lines, changed, text))


def _changed(
    facts: ExportFacts,
    mine: FileLine,
    recommended: Mapping[str, Line],
    last: Mapping[str, FileLine],
    removed: Mapping[str, str],
) -> list[str | tuple[str, str]] | None:
    """The lines in place of one of the user's: comments, and names with values; None: as it is."""
    result = mine.result
    gone = comment(result.text)
    for name in (*mine.sets, result.name):
        if name in removed:
            return [comment(f"Removed. {removed[name]}."), gone]
    if mine.is_translated and not mine.sets:
        return [comment(f"Removed. {sentence(result.reason)}"), gone]
    ours = {name: recommended[name] for name in mine.sets if name in recommended}
    own = {name: mine.sets[name] for name in mine.sets if last[name] is mine}
    if mine.is_translated:
        values = {name: ours[name].value if name in ours else value for name, value in own.items()}
        text = [comment(f"Was {result.text.strip()} ({result.reason})")]
        text += [comment(about(ours[name], facts, "")) for name in ours if name in own]
        if not values:
            return [*text, gone]
        written = [(name, value) for name, value in values.items() if value is not None]
        return [*text, *(_setting(name, value, facts) for name, value in written)]
    for name, value in own.items():
        if name in ours and value != ours[name].value:
            text = [comment(about(ours[name], facts, mine.given))]
            return [*text, _setting(name, ours[name].value, facts)]
    return None


def _setting(name: str, value: str, facts: ExportFacts) -> tuple[str, str]:
    return name, option_value(cnf_value(name, value, facts.server))


def _applied(
    lines: Sequence[str], changed: Mapping[int, list[str]], added: Sequence[str]
) -> Iterator[str]:
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    add_after = _end_of_group(lines)
    for index, line in enumerate(lines):
        ending = line[len(line.rstrip("\r\n")) :]
        for new in changed.get(index, [])[:-1]:
            yield new + (ending or end)
        yield changed[index][-1] + ending if index in changed else line
        if added and index == add_after:
            yield "" if ending else end
            yield from (new + end for new in added)
    if added and add_after is None:
        if lines:
            yield end if lines[-1].endswith("\n") else end + end
        yield from (new + end for new in ("[mysqld]", *added))


def _end_of_group(lines: Sequence[str]) -> int | None:
    """The index of the last option (or the header) in the last [mysqld]; None without one.

    Files that are included behind it could overrule what is added there, so that is None too.
    """
    found: int | None = None
    is_inside = False
    for index, line in enumerate(lines):
        text = line.removeprefix("\ufeff").strip()
        if text.startswith("!"):
            found, is_inside = None, False
        if text.startswith("["):
            is_inside = text[1:].partition("]")[0].rstrip() == "mysqld"
        if is_inside and text and text[0] not in "#;":
            found = index
    return found


def _rewritten(old: str, mine: FileLine, name: str, value: str) -> Iterator[str]:
    """The line with the new value; indent, spelling of the name and comment are kept.

    The comment of a line that would become too long for the server stands before it.
    """
    body, _ = without_comment(old)
    rest = old[len(body) :]
    tail = body[len(body.rstrip()) :] + rest
    indent = body[: len(body) - len(body.lstrip())]
    spelled, _, behind = body.partition("=")
    if mine.result.name != name or mine.result.value is None:
        line = f"{indent}{name} = {value}{tail}"
    else:
        gap = behind[: len(behind) - len(behind.lstrip())] if behind.strip() else " "
        line = f"{spelled}={gap}{value}{tail if behind.strip() else rest}"
    if len(line.encode()) > MAX_LINE_BYTES:
        yield comment(rest.lstrip("# "))
        line = f"{name} = {value}"
    yield line


def _conflicts(facts: ExportFacts, lines: Sequence[Line], current: UserFile) -> _Conflicts:
    """Check the file with the recommended lines in it; its host is unknown."""
    server, found = facts.server, _Conflicts()
    recommended = {line.name: line.value for line in lines}

    def broken_with(others: Mapping[str, str]) -> list[Broken]:
        return broken_rules(Expected({**recommended, **others}, server))

    own = {
        name: value
        for name, value in current.values.items()
        if value is not None and name in load_catalogue().knobs
    }
    kept = {name: value for name, value in own.items() if name not in recommended}
    if facts.file is not None:
        for one in facts.left_out:
            for name in kept.keys() & one.names:
                if same(kept[name], facts.winner_knobs[name]):
                    found.removed[name] = f"No measurable effect: {one.text}".rstrip(".")
                    del kept[name]
    by_itself = {*broken_rules(Expected(own, server)), *broken_with({})}
    while broken := next((one for one in broken_with(kept) if one not in by_itself), None):
        reason = f"{broken[0]}: {broken[1]}"
        for name in kept:
            if broken not in broken_with({one: kept[one] for one in kept if one != name}):
                found.removed[name] = reason.rstrip(".")
                del kept[name]
                break
        else:
            by_itself.add(broken)
            found.refused.append(reason)
    whole = losses({**recommended, **kept}, server)
    found.unsafe = {name: whole[name] for name in kept if name in whole}
    return found


def _kept(facts: ExportFacts, current: UserFile, conflicts: _Conflicts) -> Iterator[str]:
    """Other settings of the file that differ from those of the measured server."""
    knobs = load_catalogue().knobs
    names = [name for name in current.last if name not in facts.knobs and name in knobs]
    shown = effective_values(names, facts.candidate_variables, facts.server)
    for name in names:
        measured = shown.get(name) or default_of(name, facts)
        mine = current.last[name]
        value = mine.sets[name] or mine.result.value
        is_same = measured is not None and value is not None and same(measured, value)
        if is_same or name in conflicts.removed:
            continue
        was = readable_value(knobs[name], measured) if measured else "the server's default"
        given, loses = conflicts.unsafe.get(name, (None, ""))
        warning = f"; WARNING: it may lose {loses} ({given})" if given else ""
        text = name if value is None else f"{name} = {readable_value(knobs[name], value)}"
        yield f"{text} (measured with {was}){warning}"


def _all(texts: Sequence[str]) -> str:
    return "; ".join(texts)


def _whole(line: str) -> str:
    """A line of a diff, with the marker for a file that does not end with a newline."""
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
