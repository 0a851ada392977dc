"""A request's field is declared once: schema, form and command have it from its class."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Annotated, Any

import pytest
from django import forms
from django.conf import settings
from django.core.management import call_command
from django.test import Client
from pydantic import Field, StrictInt

from advisor.management import listing, measuring
from advisor.management.request_options import add_request_options
from advisor.management.request_options import given as given_options
from advisor.pages.request_fields import given as given_fields
from advisor.pages.request_fields import request_fields
from tuning.models import Study
from tuning.requests.fields import Cli, Request, read_request


class MadeUp(Request):
    """A request with a field of each shape."""

    cups: Annotated[StrictInt | None, Cli("cups", "N")] = Field(
        None, ge=1, le=9, title="Cups of tea", description="How many cups."
    )
    sugar: Annotated[bool | None, Cli("sugar")] = Field(None, description="With sugar.")
    kinds: Annotated[list[str], Cli("kind", "NAME")] = Field([], description="Of tea.")


def test_a_new_field_is_in_the_schema_the_form_and_the_command() -> None:
    schema = MadeUp.model_json_schema()["properties"]["cups"]
    assert schema["description"] == "How many cups."
    assert {"minimum": 1, "maximum": 9, "type": "integer"} in schema["anyOf"]
    fields = request_fields(MadeUp)
    cups = fields["cups"]
    assert isinstance(cups, forms.IntegerField)
    assert (cups.label, cups.help_text) == ("Cups of tea", "How many cups.")
    assert (cups.min_value, cups.max_value) == (1, 9)
    parser = ArgumentParser()
    add_request_options(parser, MadeUp)
    assert "--cups N" in parser.format_help()
    typed = parser.parse_args(["--cups", "3", "--no-sugar", "--kind", "a", "--kind", "b"])
    by_command = given_options(MadeUp, vars(typed))
    by_form = given_fields(MadeUp, {"cups": 3, "sugar": False, "kinds": ["a", "b"]})
    assert by_command == by_form
    assert read_request(MadeUp, by_form) == MadeUp(cups=3, sugar=False, kinds=["a", "b"])


@pytest.mark.long
@pytest.mark.django_db
def test_api_form_and_command_store_the_same_request(
    admin_client: Client, host_of_fakes: None, sent: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "inspect_here", lambda *_, **__: None)
    monkeypatch.setattr(measuring, "Supervisor", _nothing_is_measured)
    file = Path(settings.HOME) / "mine.cnf"
    file.write_text("[mysqld]\ninnodb_io_capacity = 5000\n")
    body = {
        "template": "search",
        "configs": [{"name": "mine", "text": file.read_text()}],
        "durability": "D1",
        "allow": ["observability"],
        "warehouses": 3,
        "warmup_s": 1,
        "budget_minutes": 90,
        "search": {
            "knobs": 6,
            "keep": {"p95": 50},
            "pinned": {"innodb_io_capacity": "900"},
            "bounds": {"innodb_buffer_pool_size": ["1G", "2G"]},
            "free": ["table_open_cache"],
            "objective": "p95",
        },
    }
    sent_body = admin_client.post("/api/v1/studies/", json.dumps(body), "application/json")
    assert sent_body.status_code == 201, sent_body.content
    by_form = {
        "config_name": ["mine"],
        "config_text": [file.read_text()],
        **{name: body[name] for name in ("template", "durability", "allow", "warehouses")},
        **{"warmup_s": "1", "budget_minutes": "90", "driver": "auto"},
        **{"search_knobs": "6", "search_keep": "p95<=50", "search_warm_start": "on"},
        "search_pinned": "innodb_io_capacity=900",
        "search_bounds": "innodb_buffer_pool_size=1G..2G",
        **{"search_free": "table_open_cache", "search_objective": "p95"},
    }
    answer = admin_client.post("/studies/new/", by_form)
    assert answer.status_code == 302, answer.content
    options = ["--search", "--knobs", "6", "--keep", "p95<=50", "--pin", "innodb_io_capacity=900"]
    options += ["--config", str(file), "--durability", "D1", "--allow", "observability"]
    options += ["--warehouses", "3", "--warmup", "1", "--budget", "90", "--objective", "p95"]
    options += ["--bound", "innodb_buffer_pool_size=1G..2G", "--free", "table-open-cache"]
    with pytest.raises(SystemExit):
        call_command("advise", *options)
    stored = [study.request for study in Study.objects.order_by("pk")]
    assert stored == [stored[0]] * 3


def _nothing_is_measured(**_: Any) -> Any:
    raise KeyboardInterrupt


def test_a_field_of_a_request_is_named_in_few_files() -> None:
    names = [
        str(path.relative_to(settings.BASE_DIR))
        for room in ("advisor", "tuning", "benchmarks", "templates")
        for path in (Path(settings.BASE_DIR) / room).rglob("*.*")
        if path.suffix in (".py", ".html", ".js")
        and not {"tests", "migrations"} & set(path.parts)
        and "keeps_duplicates" in path.read_text(encoding="utf-8")
    ]
    assert len(names) <= 4, names
