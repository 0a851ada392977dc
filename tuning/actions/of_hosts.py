"""Actions of hosts, of their datasets, of devices and of probes."""

from __future__ import annotations

from benchmarks.models import Device, Host, Inspection, Probe
from benchmarks.storage.kinds import DeviceKind
from tuning.actions.action import Action, Actor, Fields
from tuning.actions.fields import DatasetFields, KindFields, ProbeFields, ReasonFields
from tuning.actions.subjects import DATASET, DEVICE, HOST, PROBE
from tuning.studies.host_checks import check_not_retired
from tuning.studies.host_state import (
    check_can_drain,
    check_can_retire,
    check_can_undrain,
    check_can_unretire,
    drain_host,
    retire_host,
    undrain_host,
    unretire_host,
)
from tuning.studies.inspecting import inspect_again
from tuning.studies.named_devices import check_can_set_kind, set_kind
from tuning.studies.probing import (
    cancel_probe,
    check_can_cancel_probe,
    check_can_probe,
    start_probe,
)
from tuning.studies.tidying import ask_to_delete, ask_to_prune


def _drain(host: Host, actor: Actor, fields: ReasonFields) -> None:
    drain_host(host, by=actor.name, reason=fields.reason)


def _undrain(host: Host, _: Actor, __: Fields) -> None:
    undrain_host(host)


def _retire(host: Host, actor: Actor, fields: ReasonFields) -> None:
    retire_host(host, by=actor.name, reason=fields.reason)


def _unretire(host: Host, _: Actor, __: Fields) -> None:
    unretire_host(host)


def _inspect(host: Host, actor: Actor, _: Fields) -> Inspection:
    return inspect_again(host, user=actor.user)


def _delete(host: Host, actor: Actor, fields: DatasetFields) -> Inspection:
    return ask_to_delete(host, fields.name, user=actor.user)


def _prune(host: Host, actor: Actor, _: Fields) -> Inspection:
    return ask_to_prune(host, user=actor.user)


def _probe(device: Device, actor: Actor, fields: ProbeFields) -> Probe:
    return start_probe(device, fields.seconds, user=actor.user)


def _set_kind(device: Device, _: Actor, fields: KindFields) -> None:
    set_kind(device, DeviceKind(fields.kind) if fields.kind else None)


def _cancel_probe(probe: Probe, _: Actor, __: Fields) -> None:
    cancel_probe(probe)


OF_HOSTS = (
    Action(
        HOST,
        "drain",
        "administrator",
        label="Drain host",
        help="For maintenance: the host finishes its current job and takes nothing more until it "
        "is undrained.",
        done="is drained: its current job is finished first, its queue waits",
        check=check_can_drain,
        run=_drain,
        fields=ReasonFields,
    ),
    Action(
        HOST,
        "undrain",
        "administrator",
        label="Undrain host",
        help="Let a drained host take work again.",
        done="takes work again",
        check=check_can_undrain,
        run=_undrain,
        tone="primary",
    ),
    Action(
        HOST,
        "inspect",
        "operator",
        label="Inspect host again",
        help="Let the host look again at its servers, directories and limits, between two runs.",
        done="will look at what it has; what it finds appears on its page",
        check=check_not_retired,
        run=_inspect,
    ),
    Action(
        HOST,
        "retire",
        "administrator",
        label="Retire host",
        help="For a host that is out of use for good. All that runs or waits there ends, and so "
        "do studies that it drives for other hosts. Results are kept.",
        done="is retired: its studies have ended, its history stays",
        check=check_can_retire,
        run=_retire,
        fields=ReasonFields,
        asks=True,
        tone="danger",
    ),
    Action(
        HOST,
        "unretire",
        "administrator",
        label="Take back into use",
        help="Let a retired host take work again.",
        done="takes work again",
        check=check_can_unretire,
        run=_unretire,
        tone="primary",
    ),
)

OF_DATASETS = (
    Action(
        DATASET,
        "delete",
        "administrator",
        label="Delete",
        help="Delete a dataset between two runs. To load it again takes as long as the first "
        "time.",
        done="was asked to delete {name}",
        check=check_not_retired,
        run=_delete,
        fields=DatasetFields,
        asks=True,
        tone="danger",
    ),
    Action(
        DATASET,
        "prune",
        "administrator",
        label="Delete unused datasets",
        help="Delete the datasets not used for the host's ADVISOR_DATASET_DAYS, and those of "
        "servers that are gone. A dataset that a study needs stays.",
        done="was asked to delete its unused datasets",
        check=check_not_retired,
        run=_prune,
        asks=True,
    ),
)

OF_DEVICES = (
    Action(
        DEVICE,
        "probe",
        "operator",
        label="Probe device",
        help="Measure the device with fio. A probe waits for the study that is running.",
        done="is probed for {seconds} s as soon as its host is free",
        check=check_can_probe,
        run=_probe,
        fields=ProbeFields,
    ),
    Action(
        DEVICE,
        "kind",
        "administrator",
        label="Set kind",
        help="Set what the device is, where detection was wrong.",
        done="has its kind set",
        check=check_can_set_kind,
        run=_set_kind,
        fields=KindFields,
    ),
)

OF_PROBES = (
    Action(
        PROBE,
        "cancel",
        "operator",
        label="Cancel probe",
        help="Stop the probe within seconds.",
        done="is being cancelled: it stops within seconds",
        check=check_can_cancel_probe,
        run=_cancel_probe,
        is_own=True,
        tone="danger",
    ),
)
