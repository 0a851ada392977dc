"""The table of all actions. Buttons, addresses, access rules and subcommands follow from it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from benchmarks.probe.run import MAX_S, MIN_S, USUAL_S
from benchmarks.storage.kinds import DeviceKind, kind_words
from tuning.actions.action import DATASET, DEVICE, HOST, PROBE, Action, Fields, ReasonFields
from tuning.actions.of_studies import OF_GATES, OF_GROUPS, OF_PROFILES, OF_STUDIES
from tuning.creation.devices import check_can_set_kind, set_kind
from tuning.hosts.commands import (
    ask_to_delete,
    ask_to_prune,
    cancel_probe,
    check_can_cancel_probe,
    check_can_drain,
    check_can_probe,
    check_can_retire,
    check_can_undrain,
    check_can_unretire,
    drain_host,
    inspect_again,
    retire_host,
    start_probe,
    undrain_host,
    unretire_host,
)
from tuning.studies.waiting import check_not_retired


class ProbeFields(Fields):
    seconds: int = Field(
        int(USUAL_S),
        ge=int(MIN_S),
        le=int(MAX_S),
        title="Seconds",
        description="duration; a longer probe gives steadier figures",
    )


class KindFields(Fields):
    kind: DeviceKind | Literal[""] = Field(
        "",
        title="Kind",
        description="what the device is; empty: as detected",
        json_schema_extra={
            "choices": {"": "As detected", **{kind.value: kind_words(kind) for kind in DeviceKind}}
        },
    )


class DatasetFields(Fields):
    name: str = Field(min_length=1, title="Name", description="name of the dataset")


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
        run=lambda host, actor, fields: drain_host(host, by=actor.name, reason=fields.reason),
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
        run=lambda host, _, __: undrain_host(host),
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
        run=lambda host, actor, _: inspect_again(host, user=actor.user),
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
        run=lambda host, actor, fields: retire_host(host, by=actor.name, reason=fields.reason),
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
        run=lambda host, _, __: unretire_host(host),
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
        run=lambda host, actor, fields: ask_to_delete(host, fields.name, user=actor.user),
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
        run=lambda host, actor, _: ask_to_prune(host, user=actor.user),
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
        run=lambda device, actor, fields: start_probe(device, fields.seconds, user=actor.user),
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
        run=lambda device, _, fields: set_kind(
            device, DeviceKind(fields.kind) if fields.kind else None
        ),
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
        run=lambda probe, _, __: cancel_probe(probe),
        is_own=True,
        tone="danger",
    ),
)

ACTIONS: tuple[Action, ...] = (
    *OF_STUDIES,
    *OF_GROUPS,
    *OF_GATES,
    *OF_HOSTS,
    *OF_DATASETS,
    *OF_DEVICES,
    *OF_PROBES,
    *OF_PROFILES,
)


def actions_of(subject: str) -> list[Action]:
    """Return the actions of a subject such as "study", in the order of the table."""
    return [action for action in ACTIONS if action.subject.name == subject]


def find_action(subject: str, name: str) -> Action:
    """Return one action. Raises LookupError if the table has no such action."""
    for action in actions_of(subject):
        if action.name == name:
            return action
    raise LookupError(f"no action {name!r} of a {subject}")
