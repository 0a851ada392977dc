"""Where two servers that are compared differ, by their effective values."""

from __future__ import annotations

import pytest

from benchmarks.servers.binary import Flavour
from tuning.catalogue.knob import Durability
from tuning.catalogue.target import ServerTraits
from tuning.configs.effective.differences import (
    EffectiveSettings,
    SettingDifference,
    setting_differences,
)
from tuning.configs.effective.readback import shown_redo_bytes

MYSQL = ServerTraits(Flavour.MYSQL, (9, 7, 4))
OLDER = ServerTraits(Flavour.MYSQL, (8, 0, 46))
MARIADB = ServerTraits(Flavour.MARIADB, (10, 11, 19))


def test_values_that_mean_the_same_do_not_differ() -> None:
    ours = EffectiveSettings(
        MYSQL, {"innodb_max_dirty_pages_pct": "90.000000", "log_bin": "ON"}, {}
    )
    theirs = EffectiveSettings(OLDER, {"innodb_max_dirty_pages_pct": "90", "log_bin": "ON"}, {})
    assert setting_differences(ours, theirs) == []
    assert ours.durability is Durability.D0


def test_what_only_one_server_has_is_named_only_where_something_is_lost_by_it() -> None:
    ours = EffectiveSettings(
        MYSQL, {"innodb_log_writer_threads": "ON", "innodb_log_checksums": "ON"}, {"x": "1"}
    )
    theirs = EffectiveSettings(MARIADB, {"innodb_log_file_buffering": "ON"}, {})
    assert setting_differences(ours, theirs) == []
    unsafe = EffectiveSettings(
        MYSQL, {"innodb_log_checksums": "OFF"}, {"innodb_log_checksums": "OFF"}
    )
    assert setting_differences(unsafe, theirs) == [
        SettingDifference(
            "innodb_log_checksums", "OFF", None, is_durability=True, is_default=False
        )
    ]
    assert unsafe.durability is Durability.D2


def test_names_of_a_variable_that_differ_are_no_difference() -> None:
    ours = EffectiveSettings(MYSQL, {"transaction_isolation": "REPEATABLE-READ"}, {})
    theirs = EffectiveSettings(MARIADB, {"tx_isolation": "READ-COMMITTED"}, {})
    (found,) = setting_differences(ours, theirs)
    assert (found.name, found.candidate, found.baseline) == (
        *("transaction_isolation", "REPEATABLE-READ", "READ-COMMITTED"),
    )


@pytest.mark.parametrize(
    ("target", "variables", "size"),
    [
        (MYSQL, {"innodb_redo_log_capacity": "1000"}, 1000),
        (MARIADB, {"innodb_log_file_size": "1000"}, 1000),
        (
            ServerTraits(Flavour.MYSQL, (5, 7, 42)),
            {"innodb_log_file_size": "1000", "innodb_log_files_in_group": "3"},
            3000,
        ),
        (
            OLDER,  # which shows the default capacity where the old pair is in use
            {
                "innodb_redo_log_capacity": "104857600",
                "innodb_log_file_size": "1000",
                "innodb_log_files_in_group": "2",
            },
            2000,
        ),
        (MYSQL, {}, None),
    ],
)
def test_the_redo_log_is_compared_with_all_its_files(
    target: ServerTraits, variables: dict[str, str], size: int | None
) -> None:
    assert shown_redo_bytes(variables, target, {}) == size
