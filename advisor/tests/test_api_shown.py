"""Documents that are filled by what was found out once say what the serializers say."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.core.exceptions import ObjectDoesNotExist
from rest_framework import serializers

from advisor.api.serializers.shown import shown


class Inner(serializers.Serializer[Any]):
    name = serializers.CharField()
    items = serializers.IntegerField(required=False)


class Outer(serializers.Serializer[Any]):
    renamed = serializers.CharField(source="host.name", allow_null=True)
    text = serializers.CharField(required=False)
    made = serializers.FloatField()
    inner = Inner(allow_null=True)
    inners = Inner(many=True)
    usual = serializers.IntegerField(default=7)
    secret = serializers.CharField(write_only=True)
    twice = serializers.SerializerMethodField()

    def get_twice(self, instance: Any) -> str:
        return str(type(instance).__name__) * 2


class Gone:
    """A row that was deleted after the one that names it was read."""

    @property
    def name(self) -> str:
        raise ObjectDoesNotExist


def row(**values: Any) -> SimpleNamespace:
    usual = {"host": SimpleNamespace(name="db-1"), "made": 2, "inner": {"name": 3}, "inners": ()}
    return SimpleNamespace(**(usual | values))


@pytest.mark.parametrize(
    "instance",
    [
        row(text="a", usual=8, inner=SimpleNamespace(name="x", items=1)),
        row(inners=[{"name": "a", "items": 2}, SimpleNamespace(name="b")], secret="not shown"),
        row(host=None, inner=None),
        row(made=lambda: 1.5, text=None),
        row(host={"name": "in a dictionary"}),
        row(host=Gone()),
        {"host": {"name": "all"}, "made": 1, "inner": {"name": "x"}, "inners": []},
    ],
)
def test_every_kind_of_value_is_read_as_the_serializer_reads_it(instance: Any) -> None:
    assert shown(Outer, instance) == Outer().to_representation(instance)


def test_what_is_missing_is_an_error_as_with_the_serializer() -> None:
    for show in (lambda one: shown(Outer, one), Outer().to_representation):
        with pytest.raises(AttributeError, match="made"):
            show(SimpleNamespace(host=None, inner=None, inners=()))
