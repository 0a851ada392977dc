"""Documents of answers.

To make a serializer, with a copy of each of its fields and of those below them, takes as long as
to fill it several times. One of each kind is kept; filling it changes nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rest_framework import serializers

Kind = type[serializers.Serializer[Any]]

_KEPT: dict[Kind, serializers.Serializer[Any]] = {}


def shown(kind: Kind, instance: Any) -> dict[str, Any]:
    """What a serializer of this kind, which needs no context, makes of the instance."""
    return dict(_kept(kind).to_representation(instance))


def all_shown(kind: Kind, instances: Iterable[Any]) -> list[dict[str, Any]]:
    """The same of each."""
    return [shown(kind, one) for one in instances]


def _kept(kind: Kind) -> serializers.Serializer[Any]:
    if kind not in _KEPT:
        _KEPT[kind] = kind()
    return _KEPT[kind]
