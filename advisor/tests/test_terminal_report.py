from __future__ import annotations

import io

import pytest
from rich.console import Console

from advisor.terminal.report import print_ranking
from advisor.tests import factories

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("width", [80, 200])
def test_the_ranking_keeps_every_figure_on_a_terminal_of_80_columns(width: int) -> None:
    study = factories.measured_study(fails=["whitepaper-1"])
    shown = io.StringIO()
    print_ranking(study, Console(file=shown, width=width))
    text = shown.getvalue()
    lines = {line.split()[1]: line.split() for line in text.splitlines() if "whitepaper" in line}
    assert lines["whitepaper-a"][0].isdigit()
    assert lines["whitepaper-a"][-1] == "OK"
    assert lines["whitepaper-a"][3].startswith("+")
    assert "server-default *" in text
    assert "0/3" in lines["whitepaper-1"]
    assert "…" not in text
    assert "not tpmC" in text
