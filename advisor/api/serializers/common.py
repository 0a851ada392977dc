"""What requests and responses have in common, and the format of an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from math import isfinite
from typing import Any, Self

from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.request import Request

from advisor.api.serializers.json_types import wrong_types
from advisor.ids import MAX_ID
from benchmarks.storage.kinds import DeviceKind
from tuning.catalogue.costs import CostKind
from tuning.catalogue.knob import Durability
from tuning.catalogue.target import parse_traits
from tuning.export.formats import FORMATS

CLASSES = [one.value for one in Durability]
COSTS = [one.value for one in CostKind]
FORMAT_NAMES = list(FORMATS)
PAGE_PARAMETERS = ("page", "page_size", "cursor")
#: The id of a row in an address's parameters.
ROW: dict[str, Any] = {"min_value": 1, "max_value": MAX_ID, "required": False}
#: A field that may be left out or null.
OPTIONAL: dict[str, Any] = {"required": False, "allow_null": True}
KINDS = [kind.value for kind in DeviceKind]
#: The name of a host in a request.
HOST_NAME: dict[str, Any] = {"max_length": 255, "required": False}
TARGET_HELP = 'A server such as "mysql 8.4" or "mariadb 10.11.8".'


class StrictSerializer(serializers.Serializer[Any]):
    """Refuses fields it does not know: a mistyped key would otherwise be ignored."""

    @classmethod
    def of(cls, request: Request) -> Self:
        """The body of a request, checked. Raises ValidationError."""
        body = cls(data=request.data)
        if wrong := wrong_types(body, request.data):
            raise serializers.ValidationError(wrong)
        body.is_valid(raise_exception=True)
        return body

    def to_internal_value(self, data: Any) -> Any:
        unknown = set(data) - set(self.fields) if isinstance(data, dict) else set()
        if unknown:
            raise serializers.ValidationError(
                {name: ["There is no such field."] for name in sorted(unknown)}
            )
        return super().to_internal_value(data)


class QuerySerializer(StrictSerializer):
    """The parameters of an address; one that is mistyped would otherwise be ignored.

    Those of pages are `advisor.api.listing`'s.
    """

    @classmethod
    def asked(cls, request: Request) -> dict[str, Any]:
        """The parameters of a request, checked. Raises ValidationError."""
        fields = cls().fields
        query = cls(
            data={
                name: values if isinstance(fields.get(name), serializers.ListField) else values[-1]
                for name, values in request.query_params.lists()
                if name not in PAGE_PARAMETERS
            }
        )
        query.is_valid(raise_exception=True)
        return dict(query.validated_data)


class TargetField(serializers.CharField):
    """A server's flavour and version, as `ServerTraits`."""

    def to_internal_value(self, data: Any) -> Any:
        try:
            return parse_traits(super().to_internal_value(data))
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from None


class _Computed:
    def __init__(self, **values: Any) -> None:
        super().__init__(**({"source": "*"} | values))

    def get_attribute(self, instance: Any) -> Any:
        return self.value(super().get_attribute(instance))  # type: ignore[misc,attr-defined]


def computed(base: type[serializers.Field], value: Callable[[Any], Any]) -> type[Any]:
    """A field of the type `base` whose value is computed from the whole instance.

    The framework's SerializerMethodField has no type for the schema.
    """
    return type(base.__name__, (_Computed, base), {"value": staticmethod(value)})


def below(prefix: str, fields: Mapping[str, serializers.Field], names: Iterable[str]) -> None:
    """Make the fields in `names` read from the instance's `prefix`."""
    for name in names:
        fields[name].source = f"{prefix}.{fields[name].source or name}".removesuffix(".*")


class TimeField(serializers.DateTimeField):
    """ISO 8601 with the offset as a number."""

    def to_representation(self, value: datetime) -> str:
        return value.isoformat()


class FiniteField(serializers.FloatField):
    """Infinity, which a bound from two blocks may be, becomes null in JSON."""

    def __init__(self, **values: Any) -> None:
        super().__init__(allow_null=True, **values)

    def to_representation(self, value: float) -> float | None:
        return float(value) if isfinite(value) else None


class EmulatedSerializer(serializers.Serializer[Any]):
    """Whether a device is emulated, and its limits."""

    emulated = serializers.BooleanField(
        source="emulation_label", help_text="Measured under limits on mysqld."
    )
    emulation = serializers.CharField(
        source="emulation_label", help_text="The limits in words; empty: none."
    )


class NamedDeviceSerializer(serializers.Serializer[Any]):
    """The fields that identify a device, in addition to `device` and `device_id`."""

    device_name = serializers.CharField(source="device", help_text="Name as shown on the pages.")
    device_kind = serializers.ChoiceField(source="device.kind", choices=KINDS)
    emulated = serializers.BooleanField(
        source="device.emulation_label", help_text="Measured under limits on mysqld."
    )
    emulation = serializers.CharField(
        source="device.emulation_label", help_text="The limits in words; empty: none."
    )


def page_of(
    name: str, kind: type[serializers.Serializer[Any]], what: str
) -> type[serializers.Serializer[Any]]:
    """A page of a list of `what`; in the schema it goes by the name and "Page"."""
    fields = {
        "count": serializers.IntegerField(help_text=f"Number of {what} on all pages."),
        "next": serializers.URLField(allow_null=True),
        "previous": serializers.URLField(allow_null=True),
        "results": kind(many=True),
    }
    return type(f"{name}PageSerializer", (serializers.Serializer,), fields)


class ErrorDetailSerializer(serializers.Serializer[Any]):
    code = serializers.CharField(help_text="A stable word for programs.")
    message = serializers.CharField(help_text="One line for people.")
    details = serializers.JSONField(required=False, help_text="Fields or lines, if any.")


class ErrorSerializer(serializers.Serializer[Any]):
    error = ErrorDetailSerializer()


def error_response(description: str) -> OpenApiResponse:
    """An error in the schema; `description` says when it is sent, or lists its codes."""
    return OpenApiResponse(ErrorSerializer, description=description)
