"""The compared sides, as an address states them, and the sides that can be added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import QueryDict

from tuning.comparison.sides import MAX_SIDES, Side
from tuning.models import Candidate, Study

_MAX_STUDIES = 30


@dataclass(frozen=True)
class Group:
    """Choices of the list under one heading: (name in links, text)."""

    title: str
    choices: list[tuple[str, str]]


def asked_sides(asked: QueryDict) -> list[str]:
    """The names in a link, at most MAX_SIDES."""
    return asked.getlist("side")[:MAX_SIDES]


def query_of(tokens: Sequence[str]) -> str:
    """The query string of a comparison of these, with its question mark; "" for none."""
    return f"?{urlencode([('side', token) for token in tokens])}" if tokens else ""


def picked(asked: QueryDict) -> list[str]:
    """The sides of the form: those that were there, and what was added to them."""
    run = asked.get("run", "").strip().removeprefix("run").strip(" -#")
    added = [one for one in asked.getlist("add") if one]
    added += [f"run-{run}"] if run else []
    return list(dict.fromkeys([*asked_sides(asked), *added]))[:MAX_SIDES]


def studies_to_pick(sides: Sequence[Side]) -> list[Group]:
    """The candidates of the studies that are compared, then the newest studies."""
    there = {side.study.pk: side.study for side in sides}
    taken = {side.candidate.pk for side in sides}
    groups = {pk: Group(f"Candidates of {study.name} ({pk})", []) for pk, study in there.items()}
    candidates = Candidate.objects.filter(
        study__in=there, refusal="", merged_into=None, taken_from=None, found_by_search=False
    ).exclude(pk__in=taken)
    for pk, study, name in candidates.order_by("study", "position").values_list(
        "pk", "study", "name"
    ):
        groups[study].choices.append((f"candidate-{pk}", name))
    newest = [
        (f"study-{pk}", f"{pk}: {name}")
        for pk, name in Study.objects.order_by("-pk").values_list("pk", "name")[:_MAX_STUDIES]
    ]
    found = [*groups.values(), Group("What a study recommends", newest)]
    return [group for group in found if group.choices]
