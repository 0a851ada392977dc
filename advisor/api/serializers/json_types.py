"""Whether the values of a body have the JSON types that the API's description says.

The framework itself takes "5" for 5 and "off" for false, which is right for the parameters of an
address, where all is text. In a body it hides a client's mistake.
"""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

#: By the field's class; a subclass has the types of the first that it belongs to.
_TYPES: tuple[tuple[type[serializers.Field], tuple[type, ...]], ...] = (
    (serializers.BooleanField, (bool,)),
    (serializers.IntegerField, (int, float)),
    (serializers.FloatField, (int, float)),
    (serializers.CharField, (str,)),
)


def wrong_types(field: Any, value: Any) -> Any:
    """What is wrong with `value`, nested as it is, as in a ValidationError; empty if nothing.

    What is null, or no list or object where there should be one, the field itself refuses.
    """
    if isinstance(field, serializers.ListSerializer) and isinstance(value, list):
        found = [wrong_types(field.child, one) for one in value]
        return found if any(found) else []
    if isinstance(field, serializers.Serializer) and isinstance(value, dict):
        known = {name: one for name, one in value.items() if name in field.fields}
        return _some({name: wrong_types(field.fields[name], one) for name, one in known.items()})
    if isinstance(field, serializers.ListField) and isinstance(value, list):
        return _some({at: wrong_types(field.child, one) for at, one in enumerate(value)})
    if isinstance(field, serializers.DictField) and isinstance(value, dict):
        return _some({name: wrong_types(field.child, one) for name, one in value.items()})
    return [] if value is None else _of_one(field, value)


def _some(found: dict[Any, Any]) -> dict[Any, Any]:
    return {name: wrong for name, wrong in found.items() if wrong}


def _of_one(field: Any, value: Any) -> list[str]:
    for kind, types in _TYPES:
        if isinstance(field, kind):
            # For Python true is a whole number.
            fits = isinstance(value, types) and isinstance(value, bool) == (types == (bool,))
            return [] if fits else [str(field.error_messages["invalid"])]
    return []
