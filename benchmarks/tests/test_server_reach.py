"""A server that a load host reaches: on one address, for one account, over TLS."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pymysql
import pytest
from cryptography import x509

from benchmarks.datasets.source import Dataset
from benchmarks.drivers.checks import check_target, connect, login
from benchmarks.drivers.protocol import Load, Target
from benchmarks.drivers.sysbench import Sysbench, find_sysbench
from benchmarks.drivers.tpcc_mysql import TpccMysql, find_tpcc_start
from benchmarks.drivers.workloads import tpcc
from benchmarks.errors import RunFailed
from benchmarks.measurement.drive import target_of
from benchmarks.servers.accounts import Account, account_sql
from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.servers.options import render_config
from benchmarks.servers.paths import InstancePaths
from benchmarks.servers.reach import (
    NotReachable,
    Reach,
    check_own_address,
    make_certificate,
    own_address_towards,
)
from benchmarks.servers.running import running_server
from benchmarks.tests.quick import QUICK, made_up

#: A second address that every Linux host has.
HERE = "127.0.0.2"
LOAD = Load(workload=tpcc(2), connections=2, warmup_s=0, measure_s=1, seed=1)


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("0.0.0.0", "every address"),  # noqa: S104 - what is refused
        ("::", "every address"),
        ("8.8.8.8", "public"),
        ("2001:4860:4860::8888", "public"),
        ("224.0.0.1", "public"),
        ("fe80::1", "link-local"),
        ("fe80::1%lo", "link-local"),
        ("db.example.com", "not an IP address"),
        ("10.255.254.253", "does not have the address"),
    ],
)
def test_a_server_is_offered_on_one_private_address_of_the_host(address: str, why: str) -> None:
    with pytest.raises(NotReachable, match=why):
        check_own_address(address)
    assert str(check_own_address(HERE)) == HERE


def test_a_client_is_an_address_and_nothing_that_could_end_a_statement() -> None:
    with pytest.raises(NotReachable):
        Reach(HERE, "%")
    with pytest.raises(NotReachable):
        Reach(HERE, "10.0.0.1'; DROP USER root; --")


def test_a_certificate_is_valid_whatever_the_clocks_of_both_hosts_say() -> None:
    made = x509.load_pem_x509_certificate(make_certificate(HERE).certificate.encode())
    assert made.not_valid_before_utc.timestamp() == 0  # where a machine without a battery begins
    assert made.not_valid_after_utc.year == 2100


@pytest.mark.parametrize(
    ("flavour", "version", "gone"),
    [
        (Flavour.MYSQL, (5, 7, 42), "skip_ssl"),
        (Flavour.MYSQL, (8, 4, 6), "tls_version"),
        (Flavour.PERCONA, (8, 0, 36), "tls_version"),
        (Flavour.MARIADB, (11, 4, 2), "skip_ssl"),
    ],
)
def test_options_and_account_of_a_server_for_a_load_host(
    flavour: Flavour, version: tuple[int, int, int], gone: str
) -> None:
    binary = made_up(flavour, version)
    paths = InstancePaths(Path("/d/data"), Path("/d/run"))

    def lines(reach: Reach | None) -> set[str]:
        text = render_config(binary, paths, port=3399, options={}, fast_shutdown=True, reach=reach)
        return set(text.splitlines())

    def sql(reach: Reach | None) -> str:
        return account_sql(binary, Account("advisor_admin", "beef"), Account("tpcc", "f0"), reach)

    client = "10.1.2.3"
    encrypted, plain = Reach(HERE, client), Reach(HERE, client, encrypted=False)
    assert lines(encrypted) >= {
        f"bind_address = {HERE}",
        "ssl_cert = /d/run/server-cert.pem",
        "ssl_key = /d/run/server-key.pem",
    }
    bound = [line for line in lines(encrypted) if line.startswith("bind_address")]
    assert len(bound) == 1
    assert not [line for line in lines(encrypted) if line.startswith(gone)]
    assert [line for line in lines(plain) if line.startswith(gone)]
    assert "bind_address = 127.0.0.1" in lines(None)
    assert "'tpcc'@'%'" not in sql(encrypted)
    assert " REQUIRE SSL;" in sql(encrypted)
    granted = "GRANT SELECT, INSERT, UPDATE, DELETE ON tpcc.* TO 'tpcc'"
    [account] = [line for line in sql(plain).splitlines() if line.startswith(granted)]
    assert account == f"{granted}@'{client}';"
    assert "REQUIRE" not in sql(plain)


@pytest.mark.server
def test_a_load_host_and_nobody_else_reaches_a_server(
    any_server: ServerBinary,
    copied_dataset: Callable[[ServerBinary, Path], Dataset],
    server_tmp: Path,
) -> None:
    copied_dataset(any_server, server_tmp / "data")
    reach = Reach(HERE, own_address_towards(HERE))
    with running_server(
        any_server,
        data_dir=server_tmp / "data",
        run_dir=server_tmp / "run",
        options=QUICK,
        reach=reach,
    ) as server:
        listening = [
            one.laddr.ip
            for one in psutil.Process(server.pid).net_connections("inet")
            if one.status == psutil.CONN_LISTEN
        ]
        assert listening == [HERE]
        target = target_of(server, "tpcc")
        check_target(target, LOAD.workload)
        with contextlib.closing(connect(target)) as connection, connection.cursor() as cursor:
            cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
            assert cursor.fetchall()[0][1]
            cursor.execute("SELECT CURRENT_USER()")
            assert cursor.fetchall() == ((f"tpcc@{reach.client}",),)

        # Without TLS, with a stranger's certificate, from another address, as the administrator.
        _cannot(replace(target, certificate=""))
        _cannot(replace(target, certificate=make_certificate(HERE).certificate))
        _cannot(replace(target, user=server.admin.user, password=server.admin.password))
        _cannot_from_another_address(target)

        sysbench = find_sysbench()
        assert sysbench is not None
        driver = Sysbench(sysbench)
        result = driver.run(
            target,
            LOAD,
            server_tmp / "work",
            on_phase=lambda _: None,
            should_stop=lambda: False,
        )
        assert result.times.count > 0
        _sysbench_trusts_no_other_certificate(driver, target, server_tmp)
        _tpcc_mysql_says_what_it_cannot(target, server_tmp)
    assert not (server_tmp / "run" / "init.sql").exists()


@pytest.mark.server
def test_a_port_that_another_program_has_is_not_held_against_the_config(
    any_server: ServerBinary, fresh_data_dir: Callable[[ServerBinary], Path], server_tmp: Path
) -> None:
    with socket.create_server((HERE, 0)) as other:
        port = other.getsockname()[1]
        with (
            pytest.raises(NotReachable, match=f"{HERE}, port {port}: "),
            running_server(
                any_server,
                data_dir=fresh_data_dir(any_server),
                run_dir=server_tmp / "run",
                options=QUICK,
                reach=Reach(HERE, own_address_towards(HERE), port=port),
            ),
        ):
            pass


def _cannot(target: Target) -> None:
    with pytest.raises((pymysql.Error, OSError)):
        connect(target)


def _cannot_from_another_address(target: Target) -> None:
    with pytest.raises(pymysql.Error, match=r"denied|not allowed"):
        pymysql.connect(**login(target), bind_address="127.0.0.9")


def _sysbench_trusts_no_other_certificate(driver: Sysbench, target: Target, folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("benchmarks.drivers.sysbench.check_target", lambda *_: None)
        other = replace(target, certificate=make_certificate(HERE).certificate)
        with pytest.raises(RunFailed, match=r"certificate|SSL|TLS"):
            driver.run(
                other, LOAD, folder / "other", on_phase=lambda _: None, should_stop=lambda: False
            )


def _tpcc_mysql_says_what_it_cannot(target: Target, folder: Path) -> None:
    program = find_tpcc_start()
    if program is None or (driver := TpccMysql(program)).encrypts:
        return
    with pytest.raises(RunFailed, match="cannot be asked to use TLS"):
        driver.run(
            target, LOAD, folder / "tpcc", on_phase=lambda _: None, should_stop=lambda: False
        )
