"""The user's own my.cnf with the recommendation in it, and the changes as a diff for `patch`."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from benchmarks.servers.options import MAX_LINE_BYTES, option_value
from tuning.catalogue.knob import Durability
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.options import Names
from tuning.catalogue.target import ServerTraits
from tuning.configs.check import import_cnf
from tuning.configs.expected import Expected
from tuning.configs.line import Fate, LineResult
from tuning.configs.parse import decode_cnf, scan_cnf, server_group, without_comment
from tuning.configs.price import losses, may_lose
from tuning.configs.readback import effective_values
from tuning.configs.rules import Broken, broken_rules
from tuning.configs.values import cnf_line, cnf_value, readable_value, same, usable
from tuning.errors import InvalidConfig, Problem, TuningError
from tuning.export.facts import ExportFacts
from tuning.export.lines import Line, default_of
from tuning.export.texts import about, comment, head, not_in_the_file, sentence

FILE_NAME = "my.cnf"
SOURCE = "current my.cnf"


@dataclass(frozen=True)
class FileLine:
    """An option line in a group that the server reads.

    index: from 0. sets: what the server has because of it, normalised; None for a value that it
    refuses or changes. is_translated: the server has no option of that name, and `sets` is what it
    means.
    """

    index: int
    result: LineResult
    sets: Mapping[str, str | None] = field(default_factory=dict)
    is_translated: bool = False

    @property
    def given(self) -> str:
        """The value as written, for people."""
        return "without a value" if self.result.value is None else self.result.value


@dataclass(frozen=True)
class UserFile:
    """A file as its lines, each with its end; the text in its encoding are its bytes.

    encoding: of the file, but UTF-8 in place of UTF-16, which no server reads.
    includes: whether it names other files, which were not read.
    """

    lines: tuple[str, ...]
    encoding: str
    options: tuple[FileLine, ...]
    includes: bool
    was_utf_16: bool

    @cached_property
    def last(self) -> dict[str, FileLine]:
        """The line that counts, by variable: an own name counts more than a translated one."""
        by_rank = sorted(self.options, key=lambda one: not one.is_translated)
        return {name: one for one in by_rank for name in one.sets}

    @property
    def values(self) -> dict[str, str | None]:
        """The values that it sets, normalised; None for one that the server refuses."""
        return {name: one.sets[name] for name, one in self.last.items()}


def read_user_file(data: bytes, server: ServerTraits) -> UserFile:
    """Read a file for the server, translated from whatever version it was written for.

    Raises InvalidConfig for what no server reads, such as a group without its end. Options that
    the server does not know stay: they are the user's.
    """
    text, encoding = decode_cnf(data)
    scanned = scan_cnf(text, lambda group: server_group(group, server))
    broken = [
        Problem(SOURCE, one.number, one.name, one.reason)
        for one in scanned.others
        if one.fate is Fate.REFUSED
    ]
    if scanned.problem or broken:
        raise InvalidConfig(broken or [Problem(SOURCE, None, "", scanned.problem)])
    report = import_cnf(data, SOURCE, server)
    found = [one for one in report.lines if server_group(one.group, server)]
    was_utf_16 = encoding.startswith("utf-16")
    if was_utf_16:
        text, encoding = text.removeprefix("\ufeff"), "utf-8"
    lines = _split(text)
    includes = any(line.lstrip().startswith("!") for line in lines)
    return UserFile(lines, encoding, tuple(_options(found, server)), includes, was_utf_16)


def _split(text: str) -> tuple[str, ...]:
    """Return the lines as the server and `patch` see them, each with its end."""
    parts = text.split("\n")
    return tuple([f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else []))


def _options(results: Sequence[LineResult], server: ServerTraits) -> Iterator[FileLine]:
    names = Names(server)
    for one in results:
        # Servers read an unambiguous beginning of a name as the name itself.
        knob = load_catalogue().get(names.full(one.name) or one.name)
        if knob is not None and knob.exists_in(server):
            # As the server reads it: a study may have measured a successor instead.
            sets = {} if knob.set_by else {knob.name: usable(knob, one.value, server)}
            yield FileLine(one.number - 1, one, sets)
        else:
            translated = one.fate in (Fate.TRANSLATED, Fate.REMOVED)
            yield FileLine(one.number - 1, one, dict(one.became), translated)


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
        changed = "; ".join(found.refused)
        remarks.append(f"WARNING: with your own lines the server changes {changed}")
    if current.includes:
        remarks.append("The files that it includes were not read; their lines may overrule these")
    if kept := "; ".join(_kept(facts, current, found)):
        remarks.append(f"Unchanged, although measured with other values: {kept}")
    remarks += not_in_the_file(facts, lines)
    patched = _split(_patched_text(facts, lines, current, found))
    hunks = list(difflib.unified_diff(current.lines, patched, FILE_NAME, FILE_NAME))
    if not hunks:
        remarks.append("Your file has all recommended values: nothing to change.")
    title = "Changes to your my.cnf recommended"
    text = [*head(facts, lines, title, own=own), *map(comment, remarks)]
    # The marker is for a file that does not end with a newline.
    marker = "\n\\ No newline at end of file\n"
    diff = "".join(line if line.endswith("\n") else f"{line}{marker}" for line in hunks)
    return "".join(f"{line}\n" for line in text).encode() + diff.encode(
        current.encoding, "replace"
    )


def render_patched(facts: ExportFacts, lines: Sequence[Line], current: UserFile) -> bytes:
    """Return the file with the recommended values; everything else is the same, byte for byte."""
    text = _patched_text(facts, lines, current, _conflicts(facts, lines, current))
    return text.encode(current.encoding, "replace")


def _patched_text(
    facts: ExportFacts, lines: Sequence[Line], current: UserFile, conflicts: _Conflicts
) -> str:
    recommended = {line.name: line for line in lines}
    changed = {
        mine.index: new
        for mine in current.options
        if (new := _changed(facts, mine, recommended, current, conflicts.removed)) is not None
    }
    added = [line for line in lines if line.written and line.name not in current.last]
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
    current: UserFile,
    removed: Mapping[str, str],
) -> list[str] | None:
    """Return the lines in place of one of the user's; None if it stays as it is."""
    result, whole = mine.result, current.lines[mine.index].rstrip("\r\n")
    gone = comment(result.text)
    for name in (*mine.sets, result.name):
        if name in removed:
            return [comment(f"Removed. {removed[name]}."), gone]
    if mine.is_translated and not mine.sets:
        return [comment(f"Removed. {sentence(result.reason)}"), gone]
    ours = {name: recommended[name] for name in mine.sets if name in recommended}
    own = {name: mine.sets[name] for name in mine.sets if current.last[name] is mine}
    if mine.is_translated:
        text = [comment(f"Was {result.text.strip()} ({result.reason})")]
        text += [comment(about(ours[name], facts, "")) for name in ours if name in own]
        for name, value in own.items():
            new = ours[name].value if name in ours else value
            text += [] if new is None else _rewritten(whole, mine, name, new, facts)
        return text if own else [*text, gone]
    for name, value in own.items():
        if name in ours and value != ours[name].value:
            new_lines = _rewritten(whole, mine, name, ours[name].value, facts)
            return [comment(about(ours[name], facts, mine.given)), *new_lines]
    return None


def _rewritten(old: str, mine: FileLine, name: str, value: str, facts: ExportFacts) -> list[str]:
    """Return the line with the new value; indent, spelling of the name and comment are kept.

    The comment of a line that would become too long for the server stands before it.
    """
    shown = option_value(cnf_value(name, value, facts.server))
    body, _ = without_comment(old)
    tail = old[len(body.rstrip()) :]
    spelled, _, behind = body.partition("=")
    if mine.result.name != name or not behind.strip():
        indent = body[: len(body) - len(body.lstrip())]
        line = f"{indent}{name} = {shown}"
    else:
        line = f"{spelled}={behind[: len(behind) - len(behind.lstrip())]}{shown}"
    if len(f"{line}{tail}".encode()) > MAX_LINE_BYTES:
        return [comment(tail.lstrip().lstrip("#")), line]
    return [f"{line}{tail}"]


def _applied(
    lines: Sequence[str], changed: Mapping[int, list[str]], added: Sequence[str]
) -> Iterator[str]:
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    add_after = _end_of_group(lines)
    for index, line in enumerate(lines):
        ending = line[len(line.rstrip("\r\n")) :]
        if index in changed:
            yield (ending or end).join(changed[index]) + ending
        else:
            yield line
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
    """Yield other settings of the file that differ from those of the measured server."""
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
