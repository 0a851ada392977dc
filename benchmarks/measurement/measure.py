"""One run from start to end: clone, start, read back, warm up, measure, stop, discard.

Each step is a context manager whose exit runs on every path, so that nothing of a run is left
behind however it ends.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from benchmarks.datasets.cloning import clone
from benchmarks.emulation.device import emulated_device
from benchmarks.measurement.drive import drive
from benchmarks.measurement.fingerprint import comparability_key, comparable_facts
from benchmarks.measurement.plan import Plan
from benchmarks.measurement.result import Measurement, conclude, samples_of, weigh_conditions
from benchmarks.measurement.steps import Steps, find_dataset, run_folders
from benchmarks.servers.failures import variables_of
from benchmarks.storage.identify import check_in_place
from benchmarks.storage.reserve import ReserveWatch
from benchmarks.telemetry.disturbance import host_changed
from benchmarks.telemetry.sampler import Sampler


def measure(
    plan: Plan,
    *,
    report: Callable[[str], None],
    should_stop: Callable[[], bool],
    keep: Callable[[Measurement], None] = lambda _: None,
) -> Measurement:
    """Measure once. `report` gets the name of each step, `should_stop` is polled until the
    driver has ended, and `keep` is given what was found before the server is stopped, which takes
    seconds; only how long that took is missing then.

    Raises RunFailed with the way it failed (DISK_FULL when a file system is down to its reserve),
    or another BenchmarkError when server, device or dataset can't be used at all. Afterwards no
    process and no file of the run is left.
    """
    steps = Steps(report)
    steps.enter("checking the device")
    data, log = check_in_place(plan.layout, plan.expected)
    with (
        ReserveWatch(plan.layout.directories, should_stop) as watch,
        run_folders(plan, steps) as (run_dir, log_dir),
        ExitStack() as stack,
    ):
        should_stop = watch.should_stop
        dataset = find_dataset(plan, steps, should_stop)
        directories = [directory for directory in (run_dir, log_dir) if directory]
        # Before the long part: limits that cannot be set cost no copy of the dataset.
        limits = stack.enter_context(emulated_device(plan.emulation, directories, run=plan.name))
        steps.enter("cloning the dataset")
        clone(dataset, run_dir / "data", log_dir=log_dir, should_stop=should_stop)
        steps.enter("starting the server")
        server = stack.enter_context(plan.running_server(run_dir, log_dir, limits, should_stop))
        stack.callback(steps.enter, "stopping the server")
        variables = variables_of(server)
        before = plan.fingerprint(data, log)
        sampler = Sampler.of(server.pid, data, log)
        driven = drive(plan, server, variables, sampler, run_dir / "driver", steps, should_stop)
        fingerprint = plan.fingerprint(data, log)
        conditions, disturbances = weigh_conditions(plan.limits, sampler, driven)
        if changed := host_changed(comparable_facts(before), comparable_facts(fingerprint)):
            disturbances.append(changed)
        seen = Measurement(
            samples=samples_of(sampler, driven),
            variables=variables,
            fingerprint=fingerprint,
            comparability_key=comparability_key(
                fingerprint,
                server_digest=plan.binary.digest,
                driver_name=plan.driver.name,
                driver_version=plan.driver.version,
                workload=plan.load.workload.name,
                dataset_key=dataset.key,
                log_bin=variables.get("log_bin") == "ON",
                applied=plan.applied,
            ),
            driver_version=plan.driver.version,
            step_seconds=steps.seconds,
            conditions=conditions,
            disturbances=disturbances,
            log_tail=server.error_log_tail(),
            write_debt=driven.write_debt,
            load_side=driven.load_side,
        )
        measured = conclude(seen, driven)
        keep(measured)
    return measured
