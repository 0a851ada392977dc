"""The recommended my.cnf: what to set, what was measured and what was not."""

from __future__ import annotations

from tuning.catalogue.knob import Durability
from tuning.configs.knobs import cnf_line
from tuning.export.comments import comment, item
from tuning.export.facts import ExportFacts
from tuning.export.header import header, left_behind
from tuning.export.lines import lines_of
from tuning.export.safety import require_acknowledged
from tuning.export.words import about, left_out_text


def render_my_cnf(facts: ExportFacts, *, acknowledged: Durability = Durability.D0) -> str:
    """The text of the file, which the server accepts unchanged.

    If the server changed a requested value, the line has the value that was measured; the server's
    defaults are left out. Raises TuningError if the knobs are below the durability class that was
    `acknowledged`.
    """
    require_acknowledged(facts, acknowledged)
    lines = lines_of(facts)
    text = [*header(facts, "my.cnf recommended"), "", "[mysqld]"]
    for line in lines:
        if line.written:
            setting = cnf_line(line.name, line.value, facts.server)
            text += ["", *comment(about(line, facts)), setting]
    if not any(line.written for line in lines):
        text += comment("Empty on purpose: the server's defaults are recommended.")
    if unwritten := [line.name for line in lines if not line.written]:
        names = ", ".join(unwritten)
        text += ["", *comment(f"Left out because they are the server's defaults: {names}.")]
    if facts.left_out:
        text += ["", *comment("No measurable effect, so left out:")]
        text += [line for one in facts.left_out for line in item(left_out_text(one, facts))]
    if left := left_behind(facts):
        text += ["", "# In the original config, but not in this file:", *left]
    return "\n".join(text) + "\n"
