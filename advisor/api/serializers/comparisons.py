"""Devices side by side, over all studies, in responses."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import ROW, QuerySerializer
from tuning.comparison.comparable_runs import RunSet
from tuning.comparison.device_comparison import Cell, DeviceComparison
from tuning.statistics.ratios import ladder


class ComparisonQuery(QuerySerializer):
    run_set = serializers.CharField(
        required=False,
        default="",
        help_text="A `key` of `run_sets`; by default the newest fitting.",
    )
    group_id = serializers.IntegerField(
        **ROW, help_text="Without run_set: that of the hosts of this study over several hosts."
    )
    config = serializers.CharField(
        required=False,
        default="best",
        help_text='A `token` of `configs`; by default "best", the best of each device.',
    )


class RunSetSerializer(serializers.Serializer[Any]):
    """Runs that were measured alike: one server version and load."""

    key = serializers.CharField()
    text = serializers.CharField(help_text="What it is, in words.")
    hosts = serializers.ListField(child=serializers.CharField())
    devices = serializers.IntegerField()
    runs = serializers.IntegerField()


class ComparedDeviceSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    host = serializers.CharField()
    name = serializers.CharField()
    data_dir = serializers.CharField()


class ComparedConfigSerializer(serializers.Serializer[Any]):
    token = serializers.CharField()
    name = serializers.CharField()
    durability = serializers.CharField()
    devices = serializers.IntegerField(help_text="On how many it was measured.")


class SpreadSerializer(serializers.Serializer[Any]):
    """One figure over the runs that have it."""

    median = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()
    runs = serializers.IntegerField()


class ComparedFiguresSerializer(serializers.Serializer[Any]):
    """One device with one number of connections: times in ms, path length in cycles."""

    device_id = serializers.IntegerField()
    connections = serializers.IntegerField()
    config = serializers.CharField()
    durability = serializers.CharField()
    is_recommended = serializers.BooleanField(help_text="Whether a study recommends it there.")
    run_id = serializers.IntegerField(help_text="The run nearest to the median tpmP.")
    tpmP = SpreadSerializer()
    p95_ms = SpreadSerializer(allow_null=True)
    server_path_length = SpreadSerializer(allow_null=True)


class DeviceRatioSerializer(serializers.Serializer[Any]):
    """tpmP of the faster device by that of the slower; between hosts that of whole machines."""

    slower_id = serializers.IntegerField()
    faster_id = serializers.IntegerField()
    connections = serializers.IntegerField()
    value = serializers.FloatField(help_text="Of the medians.")
    low = serializers.FloatField(help_text="The lowest of any two runs.")
    high = serializers.FloatField(help_text="The highest of any two runs.")


class DeviceComparisonSerializer(serializers.Serializer[Any]):
    """The devices that were measured alike, slowest first. No figure is of more than one host."""

    run_sets = RunSetSerializer(many=True, help_text="All that can be chosen, newest first.")
    run_set = RunSetSerializer(allow_null=True, help_text="The one that is shown; null: none.")
    differing = serializers.DictField(
        child=serializers.DictField(child=serializers.CharField()),
        help_text="What its hosts differ in beside their devices: fact, host, text.",
    )
    devices = ComparedDeviceSerializer(many=True)
    configs = ComparedConfigSerializer(many=True)
    results = ComparedFiguresSerializer(many=True)
    ratios = DeviceRatioSerializer(many=True)


def run_set_of(found: RunSet, text: str) -> dict[str, Any]:
    return {
        "key": found.key,
        "text": text,
        "hosts": [host.name for host in found.hosts],
        "devices": len(found.device_ids),
        "runs": found.run_count,
    }


def figures_of(comparison: DeviceComparison) -> dict[str, Any]:
    """What DeviceComparisonSerializer shows of it beside the run sets."""
    devices = comparison.devices
    pairs = [(devices[a].pk, devices[b].pk) for a, b in ladder(len(devices))]
    return {
        "differing": comparison.run_set.differing,
        "devices": [
            {
                **{"id": device.pk, "host": device.host.name, "data_dir": device.data_dir},
                "name": comparison.names[device.pk],
            }
            for device in devices
        ],
        "configs": comparison.choices,
        "results": [
            _result(device.pk, number, cell)
            for device in devices
            for number in comparison.connections
            if (cell := comparison.cell(device, number))
        ],
        "ratios": [
            {
                **{"slower_id": slower, "faster_id": faster, "connections": number},
                **{"value": one.value, "low": one.low, "high": one.high},
            }
            for number in comparison.connections
            for (slower, faster), one in zip(pairs, comparison.ratios(number), strict=True)
            if one
        ],
    }


def _result(device: int, connections: int, cell: Cell) -> dict[str, Any]:
    names = ("config", "durability", "is_recommended", "tpmP", "p95_ms", "server_path_length")
    return {
        **{"device_id": device, "connections": connections, "run_id": cell.middle_run},
        **{name: getattr(cell, name) for name in names},
    }
