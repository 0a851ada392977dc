"""Files with the new values: my.cnf, its rollback, Ansible variables, an RDS parameter group."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from benchmarks.servers.options import option_line
from tuning.catalogue.facts import Dynamic
from tuning.catalogue.loader import load_catalogue
from tuning.catalogue.target import ServerTraits
from tuning.configs.price import losses, may_lose
from tuning.configs.values import cnf_line, cnf_value, fixed_default, readable_value
from tuning.configs.variables import CAPACITY, DEDICATED, POOL
from tuning.export.facts import ExportFacts
from tuning.export.lines import Line, default_of
from tuning.export.patch import UserFile, render_patched
from tuning.export.texts import about, comment, head, not_in_the_file

#: Parameters that users of RDS cannot modify, with the reason.
NOT_ON_RDS = {
    "innodb_doublewrite": "set by RDS Optimized Writes",
    "innodb_flush_method": "RDS uses O_DIRECT",
    "innodb_page_size": "fixed when the instance is created",
}
_RDS_AT_ONCE = 20
# Amazon RDS User Guide: "Parameters for MySQL"; "Configuring buffer pool size and redo log
# capacity in MySQL 8.4"; AWS re:Post on innodb_redo_log_capacity in 8.0.30.
_RDS_FAMILIES = ("mysql5.7", "mysql8.0", "mysql8.4")
_RDS_DEDICATED = (8, 4)


def text_of(lines: Sequence[str]) -> str:
    """Return the text of a file with these lines."""
    return "\n".join(lines) + "\n"


def render_my_cnf(
    facts: ExportFacts, lines: Sequence[Line], current: UserFile | None
) -> str | bytes:
    """Return the user's own file with the changes, else one that the server accepts unchanged.

    If the server changed a requested value, the line has the value that was measured; the server's
    defaults are left out.
    """
    if current is not None:
        return render_patched(facts, lines, current)
    text = [*head(facts, lines, "my.cnf recommended"), "", "[mysqld]"]
    for line in lines:
        if line.written:
            setting = cnf_line(line.name, line.value, facts.server)
            text += [comment(about(line, facts)), setting]
    if not any(line.written for line in lines):
        text.append(comment("Empty on purpose: the server's defaults are recommended."))
    return text_of([*text, *map(comment, not_in_the_file(facts, lines))])


def render_rollback_cnf(
    facts: ExportFacts, lines: Sequence[Line], current: UserFile | None
) -> str:
    """Return the lines that replace the recommended ones: those of `current`, else defaults.

    Values below D0 in the user's own file are restored with a warning.
    """
    own = current.last if current is not None else {}
    old: dict[str, str | None] = {}
    for name, line in ((one.name, one) for one in lines):
        mine, knob = own.get(name), load_catalogue().get(name)
        if mine is not None and (line.written or mine.sets[name] != line.value):
            old[name] = mine.sets[name] if mine.sets[name] is not None else mine.result.value
        elif mine is None and line.written:
            is_fixed = knob is not None and fixed_default(knob, facts.server) is not None
            old[name] = default_of(name, facts) if is_fixed else None
    source = "are the server's defaults"
    if current is not None:
        source = "come from your my.cnf; for lines that it does not have they are the defaults"
    hint = f"Use these lines instead of the recommended ones and restart. The values {source}."
    title = "Rollback of the my.cnf recommended"
    text = [*head(facts, lines, title, undo=True), comment(hint), "", "[mysqld]"]
    unsafe = losses({name: value for name, value in old.items() if value is not None})
    for name, value in old.items():
        if name in unsafe:
            lost = may_lose(name, value or "", unsafe[name], ", as before,")
            text.append(comment(f"WARNING: {lost}."))
        if value is not None or name in own:
            text.append(option_line(name, value and cnf_value(name, value, facts.server)))
        else:
            shown = readable_value(load_catalogue().get(name), default_of(name, facts) or "")
            seen = f"; {facts.baseline.name} was measured with {shown}" if shown else ""
            text.append(comment(f"{name}: delete the line, the server computes it{seen}."))
    if not old:
        text.append(comment("The recommendation sets nothing, so there is nothing to undo."))
    return text_of(text)


def render_ansible(facts: ExportFacts, lines: Sequence[Line], _: UserFile | None) -> str:
    """Return YAML with the settings of [mysqld] as one variable, for a role's template."""
    written = [line for line in lines if line.written]
    text = head(facts, lines, "Ansible variables recommended")
    text.append("mysqld_settings:" if written else "mysqld_settings: {}")
    for line in written:
        value = json.dumps(cnf_value(line.name, line.value, facts.server))
        text += [f"  {comment(about(line, facts))}", f"  {line.name}: {value}"]
    return text_of([*text, *map(comment, not_in_the_file(facts, lines))])


def render_rds(facts: ExportFacts, lines: Sequence[Line], _: UserFile | None) -> str:
    """Return YAML for `aws rds modify-db-parameter-group --cli-input-yaml`.

    The head names what RDS does not let its users set. Bytes have no unit there. A share of
    DBInstanceClassMemory is no substitute: that is less than the memory by what RDS itself uses.
    """
    refused = {line.name: _why_not_on_rds(line, facts.server) for line in lines if line.written}
    allowed = [line for line in lines if refused.get(line.name) == ""]
    text = head(facts, lines, "RDS parameter group recommended")
    text += map(comment, _remarks_on_rds(allowed, facts.server))
    left_out = [
        f"{one.name} = {one.value} ({refused[one.name]})" for one in lines if refused.get(one.name)
    ]
    if left_out:
        text.append(comment(f"Not possible on RDS, so left out: {'; '.join(left_out)}."))
    if len(allowed) > _RDS_AT_ONCE:
        text.append(comment(f"A request takes {_RDS_AT_ONCE} parameters: split this one."))
    text.append('DBParameterGroupName: "the name of your parameter group"')
    text.append("Parameters:" if allowed else "Parameters: []")
    for line in allowed:
        is_dynamic = line.dynamic in (Dynamic.GLOBAL, Dynamic.SESSION)
        parameter = {
            "ParameterName": line.knob.variable(facts.server) if line.knob else line.name,
            "ParameterValue": {"ON": "1", "OFF": "0"}.get(line.value, line.value),
            "ApplyMethod": "immediate" if is_dynamic else "pending-reboot",
        }
        text += [f"  {comment(about(line, facts))}", f"  - {json.dumps(parameter)}"]
    return text_of(text)


def _why_not_on_rds(line: Line, server: ServerTraits) -> str:
    if line.name == DEDICATED and server.series < _RDS_DEDICATED:
        return "RDS has it from MySQL 8.4 on"
    return NOT_ON_RDS.get(line.name, "")


def _remarks_on_rds(allowed: Sequence[Line], server: ServerTraits) -> Iterator[str]:
    """Yield what RDS does in another way than a server of one's own."""
    names = {line.name for line in allowed}
    if server.mariadb:
        return
    family = f"{server.flavour}{'.'.join(map(str, server.series))}"
    if family not in _RDS_FAMILIES:
        known = ", ".join(_RDS_FAMILIES)
        yield f"RDS documents no parameter group family for {server}, only {known}"
    if server.series >= _RDS_DEDICATED and DEDICATED not in names and names & {POOL, CAPACITY}:
        yield f"RDS turns {DEDICATED} on by itself; sizes that are set here override it"
    if server.series == (8, 0) and CAPACITY in names:
        yield f"The first releases of RDS with {CAPACITY} (8.0.30) did not let users set it"
