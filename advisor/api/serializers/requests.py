"""Request bodies of the API, validated before a service is called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rest_framework import serializers

from advisor.api.serializers.common import (
    CLASSES,
    COSTS,
    FORMAT_NAMES,
    HOST_NAME,
    OPTIONAL,
    ORIGIN_HELP,
    TARGET_HELP,
    StrictSerializer,
    TargetField,
)
from advisor.api.serializers.device_requests import StudyDeviceSerializer, device_request
from advisor.api.serializers.load_hosts import LoadHostsField
from advisor.ids import MAX_ID
from benchmarks.errors import about
from benchmarks.inventory.device_lookup import DeviceRequest
from tuning.catalogue.costs import CostKind
from tuning.catalogue.knob import Durability
from tuning.catalogue.target import ServerTraits
from tuning.configs.candidates import MAX_NAME
from tuning.configs.files.cnf import MAX_CONFIG_BYTES
from tuning.export.formats import ExportRequest
from tuning.scale_model.sizes import read_size
from tuning.statistics.aim import Aim
from tuning.statistics.data import Metric
from tuning.studies.groups import MAX_HOSTS
from tuning.studies.pause_columns import MAX_PAUSE_REASON
from tuning.studies.request import (
    MAX_CONFIGS,
    MAX_DEVICES,
    MAX_KNOBS,
    MAX_MINUTES,
    MAX_SIZES,
    MAX_WORKLOADS,
    OLDER,
    SearchRequest,
    StudyRequest,
)
from tuning.studies.search_texts import (
    OBJECTIVES,
    RECOVERY,
    keep_bound,
    read_bounds,
    read_knobs,
    read_names,
    read_objective,
    read_pinned,
    recovery_bound,
)
from tuning.study_templates.loader import USUAL_TEMPLATE

# Characters of a knob's value.
MAX_VALUE = 200
_LIMIT: dict[str, Any] = {**OPTIONAL, "min_value": 0}


class ConfigTextSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=MAX_NAME)
    text = serializers.CharField(
        max_length=MAX_CONFIG_BYTES,
        trim_whitespace=False,
        help_text="The contents of a my.cnf; only tuning variables of [mysqld] are accepted.",
    )


class BoundsField(serializers.ListField):
    """The lowest and the highest value of a variable, as in a my.cnf."""

    child = serializers.CharField(max_length=MAX_VALUE)


class KeepSerializer(StrictSerializer):
    """Limits that a recommendation must meet."""

    tpmP = serializers.FloatField(**_LIMIT, help_text="Minimum.")
    p95 = serializers.FloatField(**_LIMIT, help_text="Maximum, in ms.")
    recovery = serializers.FloatField(
        **_LIMIT, help_text="Maximum seconds until it serves again after a kill under load."
    )
    path_length = serializers.FloatField(
        **_LIMIT,
        help_text="Maximum of the server's path length, in millions of cycles per New-Order.",
    )


class SearchRequestSerializer(StrictSerializer):
    """Search space and objective; omitted fields use the catalogue's choice."""

    knobs = serializers.IntegerField(
        min_value=1, max_value=MAX_KNOBS, **OPTIONAL, help_text="Number of variables."
    )
    names = serializers.ListField(
        child=serializers.CharField(max_length=MAX_NAME),
        min_length=1,
        max_length=MAX_KNOBS,
        **OPTIONAL,
        help_text="Names of the variables, instead of their number.",
    )
    free = serializers.ListField(
        child=serializers.CharField(max_length=MAX_NAME),
        max_length=MAX_KNOBS,
        required=False,
        help_text="Names of variables that are searched in any case, beside those that are "
        "chosen.",
    )
    pinned = serializers.DictField(
        child=serializers.CharField(max_length=MAX_VALUE),
        required=False,
        help_text="Variables that every config of the search sets to this value.",
    )
    bounds = serializers.DictField(
        child=BoundsField(min_length=2, max_length=2),
        required=False,
        help_text="By variable: [lowest, highest].",
    )
    objective = serializers.ChoiceField(choices=list(OBJECTIVES), default="tpmP")
    keep = KeepSerializer(required=False)
    warm_start = serializers.BooleanField(
        default=True,
        help_text="Measures the best configs of earlier studies on the same kind of device first.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("knobs") and attrs.get("names"):
            raise serializers.ValidationError(
                {"names": ["Use either `names` or `knobs`, not both."]}
            )
        return attrs


def search_request(values: dict[str, Any]) -> SearchRequest:
    """The search request. Raises BadRequest."""
    texts = (f"{name}={value}" for name, value in values.get("pinned", {}).items())
    bounds = (f"{name}={low}..{high}" for name, (low, high) in values.get("bounds", {}).items())
    keep: dict[Metric, float] = {}
    recovery_s: float | None = None
    for name, bound in values.get("keep", {}).items():
        if bound is not None and name == RECOVERY:
            recovery_s = recovery_bound(str(bound))
        elif bound is not None:
            metric = OBJECTIVES[name.replace("_", "-")]
            keep[metric] = keep_bound(metric, str(bound), keep)
    names = values.get("names")
    return SearchRequest(
        knobs=read_knobs(",".join(names)) if names else values.get("knobs"),
        free=read_names(",".join(values.get("free", ()))),
        pinned=read_pinned(texts),
        bounds=read_bounds(bounds),
        aim=Aim(read_objective(values["objective"]), keep, recovery_s),
        warm_start=values["warm_start"],
    )


class SizeField(serializers.CharField):
    """Bytes, written with a unit."""

    def to_internal_value(self, data: Any) -> Any:
        try:
            return read_size(super().to_internal_value(data))
        except ValueError as error:
            raise serializers.ValidationError(f"This {error}.") from None


class StudyRequestSerializer(StrictSerializer):
    """A request for a study. Omitted fields use the template's or the host's value."""

    template = serializers.CharField(max_length=64, default=USUAL_TEMPLATE)
    name = serializers.CharField(max_length=200, default="", allow_blank=True)
    host = serializers.CharField(
        **HOST_NAME,
        help_text="Name of the host to measure on, as listed by GET hosts/. If omitted, that of "
        "the devices, else the only one or the one that the advisor itself runs on.",
    )
    device = serializers.CharField(
        max_length=1024,
        **OPTIONAL,
        help_text="A directory on the device; short for `devices` with one `path`.",
    )
    # With many=True the null that is allowed would be allowed in the list as well.
    devices = serializers.ListSerializer(
        child=StudyDeviceSerializer(),
        **OPTIONAL,
        allow_empty=False,
        max_length=MAX_DEVICES,
        help_text="Each has its own ranking. If omitted, the host's default device.",
    )
    server = serializers.CharField(
        max_length=1024,
        **OPTIONAL,
        help_text="Path of a mysqld that the host has, as listed in its inventory.",
    )
    driver = serializers.ChoiceField(choices=["auto", "tpcc-mysql", "sysbench"], default="auto")
    load_host = LoadHostsField(
        help_text="The host that runs the driver, over the network, or a list of several that "
        "share the connections. Empty: the measured host."
    )
    configs = ConfigTextSerializer(many=True, required=False, max_length=MAX_CONFIGS)
    warehouses = serializers.IntegerField(min_value=1, **OPTIONAL)
    connections = serializers.ListField(
        child=serializers.IntegerField(min_value=1),
        min_length=1,
        max_length=MAX_WORKLOADS,
        **OPTIONAL,
    )
    warmup_s = serializers.IntegerField(min_value=0, **OPTIONAL)
    measure_s = serializers.IntegerField(min_value=1, **OPTIONAL)
    blocks = serializers.IntegerField(min_value=1, **OPTIONAL)
    seed = serializers.IntegerField(min_value=0, max_value=2**62, **OPTIONAL)

    durability = serializers.ChoiceField(
        choices=CLASSES,
        default=Durability.D0.value,
        help_text="The least safe class that candidates may have.",
    )
    translate_from = serializers.CharField(
        max_length=64, default="", allow_blank=True, help_text=ORIGIN_HELP
    )
    keeps_duplicates = serializers.BooleanField(
        default=False, help_text="Measures configs with the same effective values separately."
    )
    races = serializers.BooleanField(
        **OPTIONAL,
        default=None,
        help_text="Drops candidates that are measurably behind. Null: as in the template.",
    )
    confirms = serializers.BooleanField(
        **OPTIONAL,
        default=None,
        help_text="Measures the winner again in pairs. Null: as in the template.",
    )
    takes_apart = serializers.BooleanField(
        **OPTIONAL,
        default=None,
        help_text="Measures a confirmed winner without some of its lines. Null: as in the "
        "template; a search does.",
    )
    budget_minutes = serializers.IntegerField(
        min_value=1,
        max_value=MAX_MINUTES,
        **OPTIONAL,
        help_text="Limits the blocks by time instead of by number.",
    )
    recovery = serializers.BooleanField(
        **OPTIONAL,
        default=None,
        help_text="Kills the baseline and the winner under load and times how long they take to "
        "serve again. Null: only in a search.",
    )
    search = SearchRequestSerializer(
        **OPTIONAL,
        help_text="Searches for better configs, starting with the template's candidates. The "
        "template `search` searches without it.",
    )

    allow = serializers.ListField(
        child=serializers.ChoiceField(choices=COSTS),
        required=False,
        help_text="Kinds of cost, other than durability, that proposals may have. Default: none.",
    )

    data_size = SizeField(
        **OPTIONAL,
        help_text="Data of the real server, such as 200G (10^9 bytes) or 200GiB: with `memory` "
        "the study is a scale model of that server, and `configs` are for the real server.",
    )
    memory = SizeField(**OPTIONAL, help_text="Memory of the real server, such as 48G.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("device") and attrs.get("devices"):
            raise serializers.ValidationError(
                {"device": ["Short for `devices` with one entry: use one or the other."]}
            )
        return attrs

    def study_request(self) -> StudyRequest:
        """The study request. Raises DeviceUnusable for a device that is gone."""
        return _study_request(dict(self.validated_data))


class StudyGroupRequestSerializer(StudyRequestSerializer):
    """A request for a study on each of several hosts.

    All use the same server version, driver, data and connections. A device without `host` is
    measured on every host.
    """

    host = None
    hosts = serializers.ListField(
        child=serializers.CharField(max_length=255),
        min_length=2,
        max_length=MAX_HOSTS,
        help_text="Their names, as listed by GET hosts/.",
    )

    def study_request(self) -> StudyRequest:
        values = {name: value for name, value in self.validated_data.items() if name != "hosts"}
        return _study_request(values)


def _study_request(values: dict[str, Any]) -> StudyRequest:
    """The study request of validated fields. Raises DeviceUnusable for a device that is gone."""
    values["durability"] = Durability(values["durability"])
    values["allow"] = frozenset(map(CostKind, values.get("allow") or ()))
    values["server"] = Path(values["server"]) if values.get("server") else None
    device, devices = values.pop("device", None), values.pop("devices", None)
    values["devices"] = []
    for index, one in enumerate(devices or []):
        with about(f"devices[{index}]"):
            values["devices"].append(device_request(one))
    if device:
        values["devices"] = [DeviceRequest(Path(device))]
    values["configs"] = [
        (config["name"], config["text"].encode()) for config in values.get("configs") or []
    ]
    search = values.pop("search", None)
    return StudyRequest(**values, search=None if search is None else search_request(search))


class ExtendRequestSerializer(StrictSerializer):
    """A request for more blocks of a finished study."""

    blocks = serializers.IntegerField(min_value=1, max_value=MAX_SIZES["blocks"])


class PauseRequestSerializer(StrictSerializer):
    """A request to pause a study."""

    reason = serializers.CharField(
        max_length=MAX_PAUSE_REASON, required=False, default="", allow_blank=True
    )


class CheckRequestSerializer(StrictSerializer):
    """A my.cnf to check. Nothing is stored, and no server is started."""

    host = serializers.CharField(
        **HOST_NAME, help_text="Name of the host whose server and rules count without `target`."
    )

    text = serializers.CharField(max_length=MAX_CONFIG_BYTES, trim_whitespace=False)
    name = serializers.CharField(max_length=MAX_NAME, default="my.cnf")
    target = TargetField(
        **OPTIONAL,
        help_text=f"{TARGET_HELP} If omitted, the server and rules of the host.",
    )
    translate_from = serializers.CharField(
        max_length=64, default="", allow_blank=True, help_text=ORIGIN_HELP
    )
    durability = serializers.ChoiceField(choices=CLASSES, default=Durability.D0.value)
    connections = serializers.IntegerField(
        min_value=1, max_value=MAX_SIZES["connections"], **OPTIONAL
    )


class TranslateRequestSerializer(CheckRequestSerializer):
    """A my.cnf to translate."""

    translate_from = serializers.CharField(
        max_length=64, default=OLDER, allow_blank=True, help_text=ORIGIN_HELP
    )


class DiffRequestSerializer(CheckRequestSerializer):
    """Two my.cnf to compare."""

    text = None
    name = None
    left = serializers.CharField(max_length=MAX_CONFIG_BYTES, trim_whitespace=False)
    right = serializers.CharField(max_length=MAX_CONFIG_BYTES, trim_whitespace=False)


# Of a winner that was taken apart: those that contribute something, or all.
LINES = ("reduced", "all")
LINES_HELP = (
    "all: the winner with all its lines, also those that were left out because they contribute "
    "nothing measurable."
)


class ExportRequestSerializer(StrictSerializer):
    """A request for a recommendation as a file."""

    format = serializers.ChoiceField(choices=FORMAT_NAMES, default="cnf")
    target = TargetField(**OPTIONAL, help_text=TARGET_HELP)
    acknowledge = serializers.ChoiceField(
        choices=CLASSES,
        default=Durability.D0.value,
        help_text="The least safe durability class that you accept.",
    )
    current = serializers.CharField(
        max_length=MAX_CONFIG_BYTES,
        **OPTIONAL,
        trim_whitespace=False,
        help_text="Your current my.cnf: required for `diff`, used by the rollback.",
    )
    lines = serializers.ChoiceField(choices=LINES, default=LINES[0], help_text=LINES_HELP)
    device = serializers.IntegerField(
        min_value=1,
        max_value=MAX_ID,
        **OPTIONAL,
        help_text="Required if the study has several devices.",
    )
    connections = serializers.IntegerField(
        min_value=1,
        max_value=MAX_SIZES["connections"],
        **OPTIONAL,
        help_text="Required if the study has several numbers of connections.",
    )
    durability = serializers.ChoiceField(
        choices=CLASSES, **OPTIONAL, help_text="Class of the board that it won."
    )
    as_measured = serializers.BooleanField(
        default=False,
        help_text="Values of a scale model are not sized back to the real server.",
    )

    def export_request(self) -> ExportRequest:
        values = self.validated_data
        target: ServerTraits | None = values.get("target")
        current: str | None = values.get("current")
        return ExportRequest(
            format=values["format"],
            target=target,
            acknowledged=Durability(values["acknowledge"]),
            current=None if current is None else current.encode(),
            as_measured=values["as_measured"],
            keeps_lines=values["lines"] == LINES[1],
        )
