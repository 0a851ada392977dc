"""What another database changes: all in one process, because its start takes seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from advisor.tests import harness
from advisor.tests.bad_input.on_postgresql import refuse_all
from advisor.tests.test_backup import live_beside_a_writer, live_through

pytestmark = pytest.mark.long


def test_everything_comes_back_what_is_bad_is_refused(postgres_url: str, tmp_path: Path) -> None:
    harness.in_a_home(
        *(tmp_path, live_through, live_beside_a_writer, refuse_all),
        DATABASE_URL=postgres_url,
    )
