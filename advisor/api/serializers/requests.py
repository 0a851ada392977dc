"""Request bodies of the API, validated before a service is called."""

from __future__ import annotations

from rest_framework import serializers

from advisor.api.serializers.common import (
    CLASSES,
    FORMAT_NAMES,
    HOST_NAME,
    OPTIONAL,
    TARGET_HELP,
    StrictSerializer,
    TargetField,
)
from advisor.ids import MAX_ID
from tuning.catalogue.knob import Durability
from tuning.configs.candidates import MAX_NAME
from tuning.configs.files.cnf import MAX_CONFIG_BYTES
from tuning.export.formats import ExportRequest
from tuning.requests.configs import MAX_CONNECTIONS, OLDER, ORIGIN_HELP


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
    connections = serializers.IntegerField(min_value=1, max_value=MAX_CONNECTIONS, **OPTIONAL)


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
        max_value=MAX_CONNECTIONS,
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
        current: str | None = values.get("current")
        return ExportRequest(
            format=values["format"],
            acknowledged=Durability(values["acknowledge"]),
            current=None if current is None else current.encode(),
            as_measured=values["as_measured"],
            keeps_lines=values["lines"] == LINES[1],
        )
