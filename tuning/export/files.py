"""Files with the new values: my.cnf, its rollback, Ansible variables, an RDS parameter group."""

from __future__ import annotations

import json
from collections.abc import Sequence

from benchmarks.servers.option_file import option_line
from tuning.catalogue.facts import Dynamic
from tuning.catalogue.loader import load_catalogue
from tuning.configs.effective.durability import losses, may_lose
from tuning.configs.knobs import cnf_line, cnf_value
from tuning.configs.values import fixed_default, readable_value
from tuning.export.facts import ExportFacts
from tuning.export.lines import Line, default_of
from tuning.export.texts import about, comment, head, not_in_the_file
from tuning.export.user_file import UserFile

#: Parameters that users of RDS cannot modify, with the reason; its version decides on others.
NOT_ON_RDS = {
    "innodb_dedicated_server": "RDS sizes the server itself",
    "innodb_doublewrite": "set by RDS Optimized Writes",
    "innodb_flush_method": "RDS uses O_DIRECT",
    "innodb_page_size": "fixed when the instance is created",
}
_RDS_AT_ONCE = 20


def render_my_cnf(facts: ExportFacts, lines: Sequence[Line]) -> str:
    """Return a my.cnf of its own, which the server accepts unchanged.

    If the server changed a requested value, the line has the value that was measured; the server's
    defaults are left out.
    """
    text = [*head(facts, lines, "my.cnf recommended"), "", "[mysqld]"]
    for line in lines:
        if line.written:
            setting = cnf_line(line.name, line.value, facts.server)
            text += [comment(about(line, facts)), setting]
    if not any(line.written for line in lines):
        text.append(comment("Empty on purpose: the server's defaults are recommended."))
    text += map(comment, not_in_the_file(facts, lines))
    return "\n".join(text) + "\n"


def render_rollback_cnf(
    facts: ExportFacts, lines: Sequence[Line], current: UserFile | None
) -> str:
    """Return the lines that replace the recommended ones: those of `current`, else defaults.

    Values below D0 in the user's own file are restored with a warning.
    """
    own = current.last if current is not None else {}
    names = [
        line.name
        for line in lines
        if line.written or (line.name in own and own[line.name].sets[line.name] != line.value)
    ]
    old: dict[str, str | None] = {}
    for name in names:
        mine, knob = own.get(name), load_catalogue().get(name)
        if mine is not None:
            old[name] = mine.sets[name] if mine.sets[name] is not None else mine.result.value
        else:
            is_fixed = knob is not None and fixed_default(knob, facts.server) is not None
            old[name] = default_of(name, facts) if is_fixed else None
    source = "are the server's defaults"
    if current is not None:
        source = "come from your my.cnf; for lines that it does not have they are the defaults"
    hint = f"Use these lines instead of the recommended ones and restart. The values {source}."
    text = [*head(facts, lines, "Rollback of the my.cnf recommended", undo=True), comment(hint)]
    unsafe = losses({name: value for name, value in old.items() if value is not None})
    text += ["", "[mysqld]"]
    for name, value in old.items():
        if name in unsafe:
            lost = may_lose(name, value or "", unsafe[name], ", as before,")
            text.append(comment(f"WARNING: {lost}."))
        if value is not None or name in own:
            text.append(option_line(name, value and cnf_value(name, value, facts.server)))
        else:
            shown = readable_value(load_catalogue().get(name), default_of(name, facts) or "")
            seen = f"; {facts.baseline} was measured with {shown}" if shown else ""
            text.append(comment(f"{name}: delete the line, the server computes it{seen}."))
    if not names:
        text.append(comment("The recommendation sets nothing, so there is nothing to undo."))
    return "\n".join(text) + "\n"


def render_ansible(facts: ExportFacts, lines: Sequence[Line]) -> str:
    """Return YAML with the settings of [mysqld] as one variable, for a role's template."""
    text = [*head(facts, lines, "Ansible variables recommended"), "mysqld_settings:"]
    for line in lines:
        if line.written:
            value = json.dumps(cnf_value(line.name, line.value, facts.server))
            text += [f"  {comment(about(line, facts))}", f"  {line.name}: {value}"]
    text[-1] += " {}" if text[-1] == "mysqld_settings:" else ""
    text += map(comment, not_in_the_file(facts, lines))
    return "\n".join(text) + "\n"


def render_rds(facts: ExportFacts, lines: Sequence[Line]) -> str:
    """Return YAML for `aws rds modify-db-parameter-group --cli-input-yaml`.

    The head names what RDS does not let its users set. Bytes have no unit there.
    """
    written = [line for line in lines if line.written]
    allowed = [line for line in written if line.name not in NOT_ON_RDS]
    text = head(facts, lines, "RDS parameter group recommended")
    refused = [
        f"{line.name} = {line.value} ({NOT_ON_RDS[line.name]})"
        for line in written
        if line.name in NOT_ON_RDS
    ]
    if refused:
        text.append(comment(f"Not possible on RDS, so left out: {'; '.join(refused)}."))
    if len(allowed) > _RDS_AT_ONCE:
        text.append(comment(f"A request takes {_RDS_AT_ONCE} parameters: split this one."))
    text.append('DBParameterGroupName: "the name of your parameter group"')
    text.append("Parameters:" if allowed else "Parameters: []")
    for line in allowed:
        is_dynamic = line.dynamic in (Dynamic.GLOBAL, Dynamic.SESSION)
        parameter = {
            "ParameterName": line.name,
            "ParameterValue": {"ON": "1", "OFF": "0"}.get(line.value, line.value),
            "ApplyMethod": "immediate" if is_dynamic else "pending-reboot",
        }
        text += [f"  {comment(about(line, facts))}", f"  - {json.dumps(parameter)}"]
    return "\n".join(text) + "\n"
