from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from tuning.configs.footprint import check_memory, redo_bytes
from tuning.errors import InvalidConfig

GIB = 1024**3


@dataclass(frozen=True)
class Named:
    name: str
    knobs: dict[str, str] = field(default_factory=dict)


def pool(size: int) -> Named:
    return Named(f"pool-{size}", {"innodb_buffer_pool_size": f"{size}"})


def test_a_pool_above_the_hosts_memory_is_refused_and_every_such_pool_named() -> None:
    with pytest.raises(InvalidConfig) as refused:
        check_memory([pool(4 * GIB), pool(9 * GIB), pool(900 * GIB)], 10 * GIB)
    assert [p.source for p in refused.value.problems] == [pool(9 * GIB).name, pool(900 * GIB).name]
    assert "900.0 GiB is more than 85% of this host's memory (10.0 GiB)" in str(
        refused.value.problems[1]
    )


def test_pools_that_fit_and_configs_without_one_pass() -> None:
    check_memory([Named("default"), pool(8 * GIB)], 10 * GIB)


@pytest.mark.parametrize(
    ("knobs", "expected"),
    [
        ({}, 0),
        ({"innodb_redo_log_capacity": "3000"}, 3000),
        ({"innodb_log_file_size": "1000", "innodb_log_files_in_group": "3"}, 3000),
        ({"innodb_log_file_size": "1000"}, 1000),
    ],
)
def test_the_redo_log_is_counted_whatever_its_knobs_are_called(
    knobs: dict[str, str], expected: int
) -> None:
    assert redo_bytes([Named("default"), Named("any", knobs)]) == expected
