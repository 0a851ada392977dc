"""Before and after say what differs, and never what caused it."""

from __future__ import annotations

import pytest

from tuning.errors import InvalidRequest
from tuning.server_profile.compare import compare
from tuning.server_profile.profile import Profile
from tuning.server_profile.reading import read_profile, rows_of
from tuning.server_profile.tests.made_up import GROWN, output


def profile(text: str, later_s: int = 0) -> Profile:
    found = read_profile(rows_of(text))
    return found.model_copy(update={"read_at": found.read_at + later_s})


def test_settings_and_figures_that_differ() -> None:
    after = output(
        {"innodb_redo_log_capacity": "4294967296"},
        grown=GROWN | {"Questions": 120_000, "Innodb_os_log_written": 700_000_000},
    )
    found = compare(profile(output()), profile(after, 600))
    assert found.settings == {"innodb_redo_log_capacity": ("104857600", "4294967296")}
    pairs = {one.before.name: one for one in found.figures}
    assert pairs["questions"].change == 2
    assert pairs["redo_per_hour"].change == 1
    assert pairs["redo_per_hour"].per_statement == 0.5
    assert pairs["lock_waits"].change is None
    assert "no difference here shows what caused it" in found.limits[0]
    assert any("2 times as many statements" in one for one in found.limits)


def test_a_restart_in_between_is_said() -> None:
    found = compare(profile(output()), profile(output(), 10 * 86_400))
    assert any("restarted" in one for one in found.limits)


def test_profiles_that_are_not_of_one_server_in_their_order_are_refused() -> None:
    mariadb = profile(output({"version": "10.11.19-MariaDB"}), 600)
    with pytest.raises(InvalidRequest, match="another server"):
        compare(profile(output()), mariadb)
    with pytest.raises(InvalidRequest, match="exchange"):
        compare(profile(output(), 600), profile(output()))
