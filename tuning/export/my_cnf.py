"""The recommended my.cnf: what to set, what was measured, and what was not."""

from __future__ import annotations

from benchmarks.servers.option_file import option_line
from tuning.catalogue.knob import Durability
from tuning.export.comments import comment
from tuning.export.facts import ExportFacts
from tuning.export.header import header, left_behind
from tuning.export.lines import lines_of
from tuning.export.safety import require_acknowledged
from tuning.export.words import about


def render_my_cnf(facts: ExportFacts, *, acknowledged: Durability = Durability.D0) -> str:
    """The text of the file, which the server takes as it is.

    A knob that the server runs with another value than was asked for is written with the value
    that was measured; what the server has by itself is left out. Raises TuningError when the
    knobs are below the durability class that was `acknowledged`.
    """
    require_acknowledged(facts, acknowledged)
    lines = lines_of(facts)
    text = [*header(facts, "my.cnf recommended"), "", "[mysqld]"]
    for line in lines:
        if line.written:
            text += ["", *comment(about(line, facts)), option_line(line.name, line.value)]
    if not any(line.written for line in lines):
        text += comment("Nothing is set, on purpose: keep what the server does by itself.")
    if unwritten := [line.name for line in lines if not line.written]:
        said = (
            f"Left out, because the server has the same value by itself: {', '.join(unwritten)}."
        )
        text += ["", *comment(said)]
    if left := left_behind(facts):
        text += ["", "# In the config as it was given, but not here:", *left]
    return "\n".join(text) + "\n"
