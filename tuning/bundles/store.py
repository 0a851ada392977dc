"""Stores a bundle's rows as a study from elsewhere, with a host and devices of its own.

That host is retired from the beginning, and its devices too: nothing is measured there. Each
bundle has a host of its own: what others measured is never ranked with what was measured here.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from django.core.exceptions import ValidationError
from django.db import Error, transaction
from django.db.models import Model
from django.db.models.functions import Now
from django.utils import timezone

from benchmarks.models import SERIES_COLUMNS, Config, Host, Run, Sample, Workload
from tuning.bundles.errors import BundleRefused, damaged
from tuning.bundles.read import Bundle
from tuning.bundles.tables import TABLES, Table
from tuning.configs.knobs import config_hash
from tuning.models import Study, StudyState
from tuning.results.gates import store_verdict
from tuning.results.recommendation import NothingToRecommend

MARK = " (from elsewhere)"
_SAMPLES_AT_ONCE = 2000

#: By table the rows that were stored, by their number in the bundle.
Stored = dict[str, dict[Any, Model]]


def store_bundle(bundle: Bundle, check: Callable[[Study], object], by: str = "") -> Study:
    """The study as it stands here now. `by` is the user.

    `check` is asked to read everything that is shown of the study, before it is kept: it may
    raise anything for rows that do not hold together.
    Raises BundleRefused; then nothing is stored.
    """
    if Host.objects.filter(imported__sha256=bundle.sha256).exists():
        raise BundleRefused("bundle_imported_before", "this bundle has been imported already")
    with transaction.atomic():
        try:
            study = _store(bundle, by)
        except (Error, KeyError, TypeError, ValueError, AttributeError, ValidationError) as error:
            raise damaged(f"its rows do not fit together ({type(error).__name__})") from error
        try:
            check(study)
        except Exception as error:  # whatever was made up shows where it is used
            raise damaged(f"its rows make no study ({type(error).__name__})") from error
    return study


def _store(bundle: Bundle, by: str) -> Study:
    rows = bundle.rows
    host = _host(bundle, str(rows["host"]), by)
    stored: Stored = {"hosts": {}}
    for one in rows["hosts"]:
        stored["hosts"][one["id"]] = _host(bundle, str(one["name"]), by, drives=host)
    for table in TABLES:
        stored[table.name] = {}
        # A table that is younger than the bundle is not in it.
        documents = rows.get(table.name, [])
        for document in documents:
            _row(table, document, stored, host)
        _links_to_itself(table, documents, stored)
    [study] = stored["studies"].values()
    assert isinstance(study, Study)  # noqa: S101 - the table says so
    study.devices.set([row.pk for row in stored["devices"].values()])
    study.workloads.set([row.pk for row in stored["workloads"].values()])
    for number, log in bundle.logs.items():
        Run.objects.filter(pk=stored["runs"][number].pk).update(log_tail=log)
    for number, series in bundle.series.items():
        _store_series(stored["runs"][number].pk, series)
    found = Study.objects.get(pk=study.pk)
    if found.gate is not None and found.state == StudyState.FINISHED:
        _judge_again(found)
    return found


def _judge_again(gate: Study) -> None:
    """The verdict of its pairs, which is not taken from the bundle."""
    try:
        store_verdict(gate)
    except (NothingToRecommend, ArithmeticError, StopIteration) as error:
        raise damaged("its pairs give no verdict") from error


def _host(bundle: Bundle, name: str, by: str, drives: Host | None = None) -> Host:
    facts = {
        "sha256": bundle.sha256 if drives is None else "",
        "made_by": str(bundle.manifest["made_by"])[:200],
        "ended_at": str(bundle.manifest["ended_at"])[:40],
        "imported_at": timezone.now().isoformat(),
        "imported_by": by,
        "host": name[:255],
    }
    number = f", {drives.pk}" if drives else ""
    return Host.objects.create(
        name=f"{name[:200]} (from elsewhere, {bundle.sha256[:8]}{number})",
        imported=facts,
        retired_at=Now(),
        retire_reason="from elsewhere: only to be looked at",
    )


def _row(table: Table, document: Mapping[str, Any], stored: Stored, host: Host) -> None:
    values = table.values(document)
    for link, target in table.links.items():
        number = document.get(link)
        if target != table.name:
            values[link] = None if number is None else stored[target][number]
    for name, target in table.lists.items():
        # Before there were several load hosts a bundle had a link to one.
        single = document.get(name.removesuffix("s"))
        numbers = document.get(name, [] if single is None else [single])
        values[name] = [stored[target][number] for number in numbers]
    there = {one.name for one in table.model._meta.concrete_fields}
    if "host" in there:
        values["host"] = host
    if table.name == "studies":
        values["name"] = f"{values['name'][: 200 - len(MARK)]}{MARK}"
    if table.name == "devices":
        values["retired_at"] = timezone.now()
    stored[table.name][document["id"]] = _kept(table, values)


def _kept(table: Table, values: dict[str, Any]) -> Model:
    if table.model is Config:
        # Rows are found by the hash: it has to be that of the knobs.
        if values["hash"] != config_hash(values["knobs"]):
            raise damaged("a config's hash is not that of its knobs")
        return Config.objects.get_or_create(hash=values["hash"], defaults=values)[0]
    if table.model is Workload:
        return Workload.objects.row_of(**values)
    row = table.model._default_manager.create(**values)
    # When it was made there, which creating it set to now.
    times = {
        one.name: values[one.name]
        for one in table.columns.values()
        if getattr(one, "auto_now_add", False) and one.name in values
    }
    if times:
        table.model._default_manager.filter(pk=row.pk).update(**times)
    return row


def _links_to_itself(table: Table, documents: list[Any], stored: Stored) -> None:
    there = stored[table.name]
    for link in [name for name, target in table.links.items() if target == table.name]:
        for document in documents:
            if (number := document.get(link)) is not None:
                row = there[document["id"]]
                table.model._default_manager.filter(pk=row.pk).update(**{link: there[number]})


def _store_series(run: int, text: str) -> None:
    columns = {one.name: one for one in Sample._meta.concrete_fields if one.name in SERIES_COLUMNS}
    samples = []
    for line in csv.DictReader(io.StringIO(text)):
        values = {
            name: columns[name].to_python(value) if value else None
            for name, value in line.items()
            if name in columns
        }
        if any(isinstance(value, float) and not isfinite(value) for value in values.values()):
            raise damaged("the series of a run has what is no number")
        samples.append(Sample(run_id=run, **values))
    Sample.objects.bulk_create(samples, batch_size=_SAMPLES_AT_ONCE)
