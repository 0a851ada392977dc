"""The load hosts of a request: the name of one, or a list of several."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from advisor.api.serializers.common import HOST_NAME
from tuning.studies.request import MAX_LOAD_HOSTS

_NAME = {"type": "string", "maxLength": HOST_NAME["max_length"]}


@extend_schema_field(
    {
        "oneOf": [
            _NAME,
            {"type": "array", "items": {**_NAME, "minLength": 1}, "maxItems": MAX_LOAD_HOSTS},
        ]
    }
)
class LoadHostsField(serializers.ListField):
    """A tuple of names, `load_hosts` of the request for a service; "" and [] are none."""

    child = serializers.CharField(max_length=HOST_NAME["max_length"])

    def __init__(self, **options: Any) -> None:
        super().__init__(source="load_hosts", required=False, max_length=MAX_LOAD_HOSTS, **options)

    def to_internal_value(self, data: Any) -> tuple[str, ...]:
        """As any field."""
        if isinstance(data, str):
            return (self.child.run_validation(data),) if data else ()
        return tuple(super().to_internal_value(data))
