"""What several tests begin with refuses what it would wait for without end."""

from __future__ import annotations

import pytest
from django.db import connection

from tuning.tests.kept import kept


@pytest.mark.django_db
def test_rows_are_not_copied_into_a_transaction() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("each test makes its own rows")
    with pytest.raises(RuntimeError, match="transaction=True"):
        kept("never made", lambda: pytest.fail("it was made"))
