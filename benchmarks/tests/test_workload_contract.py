"""Every workload finds its data in the golden copy of its source, and a driver measures it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.datasets import sbtest
from benchmarks.datasets.cloning import clone
from benchmarks.datasets.golden import ensure_dataset
from benchmarks.datasets.source import Dataset, DatasetSource, sbtest_source, tpcc_source
from benchmarks.drivers.checks import check_target
from benchmarks.drivers.protocol import Load, LocalDriver, Phase, Target
from benchmarks.drivers.select import find_driver
from benchmarks.drivers.tpcc_mysql import TpccMysql
from benchmarks.drivers.workloads import OLTP_SCRIPTS, oltp, tpcc
from benchmarks.errors import RunFailed
from benchmarks.measurement.drive import target_of
from benchmarks.outcomes import Outcome
from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.instance import ServerInstance
from benchmarks.servers.running import running_server
from benchmarks.storage.copying import directory_bytes
from benchmarks.tests.conftest import GOLDEN_WAREHOUSES
from benchmarks.tests.quick import unhurried

TABLES, ROWS = 2, 3_000
TPCC = tpcc(GOLDEN_WAREHOUSES)
OLTP = [oltp(script, tables=TABLES, table_size=ROWS) for script in OLTP_SCRIPTS]
SOURCES: dict[str, DatasetSource] = {
    "tpcc": tpcc_source(GOLDEN_WAREHOUSES),
    "sbtest": sbtest_source(TABLES, ROWS),
}
WORKLOADS = {"tpcc": [TPCC], "sbtest": OLTP}


@pytest.fixture(scope="module", params=list(SOURCES))
def schema(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def dataset(schema: str, any_server: ServerBinary, shared_folder: Path) -> Dataset:
    return ensure_dataset(SOURCES[schema], any_server, device_dir=shared_folder)


@pytest.fixture(scope="module")
def server(
    schema: str, dataset: Dataset, any_server: ServerBinary, server_session_tmp: Path
) -> Iterator[ServerInstance]:
    place = server_session_tmp / dataset.key
    clone(dataset, place / "data")
    with running_server(
        any_server,
        data_dir=place / "data",
        run_dir=place / "run",
        options={**unhurried(any_server), **dataset.options},
        schema=schema,
    ) as instance:
        yield instance


@pytest.mark.server
def test_a_source_gives_a_copy_that_says_what_it_is(
    schema: str, dataset: Dataset, any_server: ServerBinary, shared_folder: Path
) -> None:
    source = SOURCES[schema]
    assert source.name in dataset.key
    assert dataset.bytes == directory_bytes(dataset.data_dir)
    tables = directory_bytes(dataset.data_dir / schema)
    assert source.data_bytes == pytest.approx(tables, rel=0.6)
    again = ensure_dataset(source, any_server, device_dir=shared_folder)
    assert again == dataset


@pytest.mark.server
def test_a_driver_measures_each_workload(
    schema: str, server: ServerInstance, tmp_path: Path
) -> None:
    driver = find_driver("sysbench")
    for workload in WORKLOADS[schema]:
        load = Load(workload, 2, warmup_s=0, measure_s=1, seed=5)
        target = target_of(server, workload.schema)
        phases: list[Phase] = []
        result = driver.run(
            target, load, tmp_path, on_phase=phases.append, should_stop=lambda: False
        )
        assert phases == ["warming", "measuring", "stopping"]
        assert tuple(result.counts) == workload.transactions
        assert result.counts[workload.counted].completed == result.times.count > 0
        assert 0 < result.times.percentile(95) <= result.times.max_ms
        assert target.password not in result.output
        assert list(tmp_path.iterdir()) == []


@pytest.mark.server
def test_missing_data_is_refused_before_it_is_driven(schema: str, server: ServerInstance) -> None:
    workload = WORKLOADS[schema][0]
    target = target_of(server, workload.schema)
    check_target(target, workload)
    query = next(iter(workload.holds))
    with pytest.raises(RunFailed, match=re.escape(query)) as caught:
        check_target(target, replace(workload, holds={query: 7}))
    assert caught.value.outcome is Outcome.DRIVER_FAILED


@pytest.mark.server
def test_the_tables_are_as_sysbench_prepares_them(
    any_server: ServerBinary, shared_folder: Path, server_tmp: Path
) -> None:
    dataset = ensure_dataset(SOURCES["sbtest"], any_server, device_dir=shared_folder)
    clone(dataset, server_tmp / "data")
    with (
        running_server(
            any_server,
            data_dir=server_tmp / "data",
            run_dir=server_tmp / "run",
            options={**unhurried(any_server), **dataset.options},
        ) as server,
        closing(server.connect(database="sbtest")) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SHOW INDEX FROM sbtest2")
        assert [(row[2], row[4]) for row in cursor.fetchall()] == [("PRIMARY", "id"), ("k_2", "k")]
        cursor.execute(
            "SELECT COUNT(*), MIN(id), MAX(id), MIN(k) >= 1, MAX(k) <= COUNT(*) FROM sbtest2"
        )
        assert cursor.fetchone() == (ROWS, 1, ROWS, 1, 1)
        cursor.execute("INSERT INTO sbtest2 (k, c, pad) VALUES (1, '', '')")
        assert cursor.lastrowid == ROWS + 1


def test_rows_have_sysbenchs_form_and_follow_from_their_place() -> None:
    lines = sbtest.rows(1, 1, 50).tobytes().decode().splitlines()
    assert len(lines) == 50
    form = r"\d{10}\t\d{10}\t(\d{11}-){9}\d{11}\t(\d{11}-){4}\d{11}"
    assert all(re.fullmatch(form, line) for line in lines)
    assert np.array_equal(sbtest.rows(1, 1, 50), sbtest.rows(1, 1, 50))
    assert not np.array_equal(sbtest.rows(2, 1, 50), sbtest.rows(1, 1, 50))


@pytest.mark.parametrize(
    "make",
    [
        lambda: oltp("bulk_insert", tables=1, table_size=1),
        lambda: sbtest_source(0, 1),
        lambda: sbtest_source(1, 0),
        lambda: tpcc_source(0),
    ],
    ids=["script", "no-tables", "no-rows", "no-warehouses"],
)
def test_impossible_workloads_and_sources_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="must be"):
        make()


def test_tpcc_start_drives_nothing_but_tpcc(tmp_path: Path, server_tmp: Path) -> None:
    program = server_tmp / "tpcc_start"
    program.write_bytes(b"")
    driver: LocalDriver = TpccMysql(program)
    load = Load(OLTP[0], 1, warmup_s=0, measure_s=1, seed=1)
    target = Target("127.0.0.1", 1, "u", "p", database="sbtest")
    with pytest.raises(RunFailed, match="cannot drive oltp_read_write"):
        driver.run(target, load, tmp_path, on_phase=print, should_stop=lambda: False)
