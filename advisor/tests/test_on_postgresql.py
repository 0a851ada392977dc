"""What another database changes: all in one process, because its start takes seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from advisor.tests import harness
from advisor.tests.bad_input.on_postgresql import refuse_all
from advisor.tests.test_backup import live_beside_a_writer, live_through
from advisor.tests.test_webhooks import tell_of_ends

pytestmark = pytest.mark.long


def test_everything_comes_back_what_is_bad_is_refused_and_webhooks_are_told(
    postgres_url: str, tmp_path: Path
) -> None:
    harness.in_a_home(
        *(tmp_path, live_through, live_beside_a_writer, refuse_all, tell_of_ends),
        DATABASE_URL=postgres_url,
    )
