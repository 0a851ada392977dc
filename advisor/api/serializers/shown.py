"""Documents of answers, as serializers describe them.

To make a serializer, with a copy of each of its fields and of those below them, takes as long as
to fill it several times, and half of what filling it takes is to find out how each value is read.
Both are done once for each kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from rest_framework import serializers
from rest_framework.fields import SkipField

Kind = type[serializers.Serializer[Any]]
#: Of a field its name, how its value is read of an instance, and how the value is shown.
Part = tuple[str, Callable[[Any], Any], Callable[[Any], Any]]

_KEPT: dict[Kind, Callable[[Any], Any]] = {}


def shown(kind: Kind, instance: Any) -> dict[str, Any]:
    """What a serializer of this kind, which needs no context, makes of the instance."""
    show = _KEPT.get(kind)
    if show is None:
        show = _KEPT[kind] = _shower(kind())
    return dict(show(instance))


def all_shown(kind: Kind, instances: Iterable[Any]) -> list[dict[str, Any]]:
    """The same of each."""
    return [shown(kind, one) for one in instances]


def _shower(field: serializers.Field) -> Callable[[Any], Any]:
    """The same as its `to_representation`."""
    usual = serializers.Serializer.to_representation
    if not isinstance(field, serializers.Serializer) or type(field).to_representation is not usual:
        return field.to_representation
    fields = [one for one in field.fields.values() if not one.write_only]
    return partial(
        _document, [(str(one.field_name), _reader(one), _shower(one)) for one in fields]
    )


def _document(parts: Iterable[Part], instance: Any) -> dict[str, Any]:
    found = {}
    for name, read, show in parts:
        try:
            value = read(instance)
        except SkipField:
            continue
        found[name] = None if value is None else show(value)
    return found


def _reader(field: serializers.Field) -> Callable[[Any], Any]:
    """The same as its `get_attribute`, which looks more closely than most values need."""
    ask = field.get_attribute
    if type(field).get_attribute is not serializers.Field.get_attribute or field.source == "*":
        return ask
    usual = attrgetter(".".join(field.source_attrs))

    def read(instance: Any) -> Any:
        try:
            value = usual(instance)
        except (AttributeError, KeyError, ObjectDoesNotExist):
            return ask(instance)
        return ask(instance) if callable(value) else value

    return read
