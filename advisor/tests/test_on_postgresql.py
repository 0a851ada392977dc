"""What another database changes: all in one process, because its start takes seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from advisor.tests import harness
from advisor.tests.bad_input.on_postgresql import refuse_all
from advisor.tests.test_backup import back_up_and_restore_postgresql

pytestmark = pytest.mark.long


def test_everything_comes_back_what_is_bad_is_refused(postgres_url: str, tmp_path: Path) -> None:
    harness.in_a_home(
        *(tmp_path, back_up_and_restore_postgresql, refuse_all),
        DATABASE_URL=postgres_url,
    )
