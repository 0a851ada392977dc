"""A study on each of two hosts at once, while one worker is killed and the other cut off."""

from __future__ import annotations

import json
import time
from typing import Any

import psutil

from advisor.tests.fleet.centre import Fleet
from advisor.tests.harness import wait_for
from benchmarks.servers.binary import ServerBinary

# Each run with the hosts that it, its device, its server and its study name.
_RUNS = """
select run.id, run.state, run.step, run.reason, run.retry_of_id, slot.study_id,
       (select name from benchmarks_host h where h.id = run.host_id) as host,
       array(
           select distinct h.name from benchmarks_host h
           where h.id in (device.host_id, server.host_id, run.host_id, study.host_id)
       ) as hosts
from benchmarks_run run
join benchmarks_device device on device.id = run.device_id
join benchmarks_server server on server.id = run.server_id
left join tuning_slot slot on slot.run_id = run.id
left join tuning_study study on study.id = slot.study_id
order by run.id
"""


def request_study(
    place: Fleet,
    host: str,
    server: ServerBinary,
    *,
    driver: str,
    measure_s: int,
    blocks: int,
    load_host: str = "",
    connections: int = 1,
    warmup_s: int = 0,
) -> int:
    """A small study on that host; its number. `load_host` drives it, if any is named."""
    answer = place.api(
        "studies/",
        {
            "template": "compare",
            "configs": [{"name": "mine", "text": "[mysqld]\ninnodb_io_capacity = 5000\n"}],
            "host": host,
            "server": str(server.path),
            "driver": driver,
            "load_host": load_host,
            **{"warehouses": 2, "connections": [connections], "warmup_s": warmup_s},
            **{"measure_s": measure_s, "blocks": blocks},
            **{"races": False, "confirms": False},
        },
        source=place.hosts[host],
    )
    return int(answer["id"])


def runs(place: Fleet) -> list[dict[str, Any]]:
    return place.rows(_RUNS)


def studies(place: Fleet) -> dict[str, dict[str, Any]]:
    """By the name of the host."""
    query = (
        "select study.*, host.name as host_name, host.idle_reason "
        "from tuning_study study join benchmarks_host host on host.id = study.host_id"
    )
    return {row["host_name"]: row for row in place.rows(query)}


def wait_until_measuring(place: Fleet, host: str) -> None:
    """Until a run of that host is being measured; nothing of it may have failed before."""
    try:
        wait_for(lambda: _measures(place, host), 150, f"{host} measures nothing")
    except AssertionError as nothing:
        raise AssertionError(f"{nothing}: {runs(place)}") from None


def _measures(place: Fleet, host: str) -> bool:
    state = studies(place)[host]
    assert state["state"] in ("queued", "preparing", "running"), state["reason"] or state["state"]
    assert not state["idle_reason"], f"{host} takes no work: {state['idle_reason']}"
    return any(run["host"] == host and run["step"] == "measuring" for run in runs(place))


def kill_what_measures(place: Fleet, host: str) -> None:
    """The process of a worker that does its jobs: the worker forks another one."""

    def measuring() -> list[psutil.Process]:
        workers = place.hosts[host].processes("manage.py worker")
        return [worker for worker in workers if worker.parent() in workers]

    (process,) = wait_for(measuring, 60, f"nothing on {host} could measure")
    process.kill()


def kill_and_cut_off(place: Fleet, killed: str, cut: str, *, seconds: float) -> None:
    """While they measure, whichever does so first: SIGKILL for one's worker, which is started
    again, and the other's cable pulled for so long.
    """
    waiting = {killed, cut}
    since = 0.0

    def is_done() -> bool:
        nonlocal since
        time.sleep(0.3)  # each look takes processor time from what is measured
        for host in sorted(waiting):
            if not _measures(place, host):
                continue
            waiting.remove(host)
            if host == killed:
                assert place.hosts[killed].kill("manage.py worker")
                place.start_worker(killed)
            else:
                place.hosts[cut].cut_off()
                since = time.monotonic()
        if since and time.monotonic() - since > seconds:
            place.hosts[cut].reconnect()
            since = 0.0
        return not waiting and not since

    wait_for(is_done, 200 + seconds, f"nothing is measured on {waiting}")


def wait_for_verdicts(place: Fleet, seconds: float = 200) -> None:
    """Until every study has ended; each with a verdict."""

    def ended() -> bool:
        return all(study["finished_at"] for study in studies(place).values())

    wait_for(ended, seconds, "the studies do not end")
    for host, study in studies(place).items():
        assert study["state"] == "finished", f"{host}: {study['reason']}"
    verdicts = place.rows("select study_id from tuning_recommendation where verdict <> ''")
    assert sorted(row["study_id"] for row in verdicts) == sorted(
        study["id"] for study in studies(place).values()
    )


def check_runs(place: Fleet) -> None:
    """Every slot has one counted run, what was lost says why, and no host's are another's."""
    every = runs(place)
    for run in every:
        if run["study_id"] is None:
            assert run["state"] == "lost", run
            assert run["reason"], run
        else:
            assert run["state"] == "ok", run
        assert run["hosts"] == [run["host"]], run
    again = [run["retry_of_id"] for run in every if run["retry_of_id"]]
    assert sorted(again) == sorted(run["id"] for run in every if run["study_id"] is None)


def check_nothing_is_left(place: Fleet) -> None:
    """No process, folder, port or registered server on a host, and no run that goes on."""

    def left() -> list[str]:
        return [f"{name}: {line}" for name in place.hosts for line in place.left_behind(name)]

    wait_for(lambda: not left(), 20, f"left behind: {left()}")
    assert not place.rows("select id from benchmarks_run where state in ('queued', 'running')")


def check_hosts_are_named(place: Fleet) -> None:
    """The list of hosts has all of them, and each study says where it was measured."""
    measured = studies(place)
    overview = place.page("/hosts/")
    for host, study in measured.items():
        assert host in overview
        page = place.page(f"/studies/{study['id']}/")
        assert host in page
        for other in set(measured) - {host}:
            assert other not in page
        assert host in json.dumps(place.api(f"studies/{study['id']}/"))


def check_connections_are_kept(place: Fleet) -> None:
    """Each host's worker has few connections to PostgreSQL, and not a new one for every look."""
    query = (
        "select host(client_addr) as address, count(*) as number, "
        "max(clock_timestamp() - backend_start) > interval '5 seconds' as is_kept "
        "from pg_stat_activity where client_addr is not null group by 1"
    )

    def wrong() -> list[str]:
        found = {row["address"]: row for row in place.rows(query)}
        seen = {name: found.get(machine.address) for name, machine in place.hosts.items()}
        return [
            f"{name}: {row}"
            for name, row in seen.items()
            if row is None or row["number"] > 3 or not row["is_kept"]
        ]

    wait_for(lambda: not wrong(), 30, f"{wrong()}")
