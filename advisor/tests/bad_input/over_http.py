"""Bad requests to the pages of a study that is over, as an administrator."""

from __future__ import annotations

import html
import random
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from django.test import Client

from advisor.tests.bad_input.judging import Case, Said
from tuning.models import Study


def page_cases(client: Client, study: Study, place: Path, dice: random.Random) -> Iterator[Case]:
    """Each form of the pages with one bad field; the answer names the field or its value."""
    drawn = "".join(dice.choices("qwxyz", k=8))
    number = f"{dice.randint(10**8, 10**12)}"
    new = {
        "template": "compare",
        "host": study.host.name,
        "path": str(place),
        "driver": "auto",
        "warehouses": "1",
        "connections": "1",
        "config_name": "mine",
        "config_text": "[mysqld]\ninnodb_io_capacity = 300\n",
    }
    numbers = ("warehouses", "warmup_s", "measure_s", "blocks", "budget_minutes", "memory_mb")
    # Each field is refused by itself, so all may be wrong at once.
    for text in (drawn, "1.5", "-1", "0x10", "\u0664\0", "NaN", "1e5"):
        send = partial(_posted, client, "/studies/new/", new | dict.fromkeys(numbers, text))
        places = tuple(f"{field}_error" for field in numbers)
        yield Case(f"POST /studies/new/ {numbers}={text!r}", places, send, places)
    bad: dict[str, tuple[str, ...]] = {
        **dict.fromkeys(numbers, (number, "9" * 30)),
        "connections": (drawn, "1,x", "0", number, "1,1", ",", "1 2 x"),
        "template": (drawn, "", "../quick", "x" * 500),
        "host": (drawn, "x" * 500),
        "path": (f"/{drawn}", drawn, "~root", "/" + "x" * 2000, f"/{drawn}\0"),
        "log_dir": (f"/{drawn}", drawn, "/" + "x" * 2000),
        "kind": (drawn,),
        "server": (f"/{drawn}", "/bin/sh"),
        "driver": (drawn,),
        "load_host": (drawn,),
        "durability": ("D3", drawn),
        "translate_from": (drawn,),
        "emulate": (drawn,),
        "name": ("x" * 300,),
        "config_name": ("server-default", "x" * 300),
        "config_text": ("", "[mysqld]\nnonsense_knob = 1"),
        "data_size": (drawn, "-5G"),
        "memory": (drawn, "5"),
        "allow": (drawn,),
    }
    said = {"config_text": ("mine", "nonsense_knob")}
    for field, values in bad.items():
        for value in values:
            yield _form(
                client, "/studies/new/", new | {field: value}, field, value, *said.get(field, ())
            )
    device = f"/devices/{study.devices.get().pk}/"
    for value in (drawn, "", "1", number, "-5"):
        yield _button(client, f"{device}actions/probe/", {"seconds": value}, "seconds: ")
    yield _button(client, f"{device}actions/kind/", {"kind": drawn}, drawn)
    added = {"path": str(place), "host": study.host.name}
    for field in ("path", "log_dir", "emulate", "memory_mb", "kind", "host"):
        for value in (drawn, *(("", f"/{drawn}\0") if field == "path" else ())):
            yield _form(client, "/devices/", added | {field: value}, field, value)
    check = {"config_text": "[mysqld]\n", "target": "mysql 8.4"}
    for field in ("target", "host", "connections", "translate_from"):
        yield _form(client, "/configs/check/", check | {field: drawn}, field, drawn)
    yield _form(client, "/configs/check/", {"config_text": ""}, "config_text", "paste a my.cnf")
    export = f"/studies/{study.pk}/recommendations/{study.recommendations.get().pk}/export/"
    yield _form(client, export, {"format": drawn}, "format", drawn)
    for value in ("[mysqld\nx", "\0"):
        yield _form(client, export, {"format": "diff", "current": value}, "current", "urrent")
    for value in (drawn, "", "0", number):
        extend = f"/studies/{study.pk}/actions/extend/"
        yield _button(client, extend, {"blocks": value}, "blocks: ")
    for name, value in (("days", drawn), ("days", "-1"), ("days", number), ("role", drawn)):
        token = {"name": "nightly", "role": "viewer", "days": "5"}
        yield _form(client, "/account/token/", token | {name: value}, name, value)
    yield _form(client, "/account/token/", {"role": "viewer"}, "name", "required")
    yield _form(client, "/inspections/", {"field": drawn}, "field", drawn, "field must be")
    for rest in ("pause", "resume", "cancel", "conclude", "ablation"):
        yield _button(client, f"/studies/{study.pk}/actions/{rest}/", {}, "study")
    one = f"/hosts/{study.host.pk}/actions/"
    yield _button(client, f"{one}undrain/", {}, "is not drained")
    yield _button(client, f"{one}unretire/", {}, "is not retired")
    yield from text_cases(client, study)
    for missing in (
        f"/studies/{number}/actions/pause/",
        f"/hosts/{number}/actions/drain/",
        f"/devices/{number}/actions/kind/",
    ):
        yield Case(f"POST {missing}", ("not", "Not"), partial(_posted, client, missing, {}))


def text_cases(client: Client, study: Study) -> Iterator[Case]:
    """Texts that nothing has, where something is looked up by them: PostgreSQL takes no NUL."""
    for text in ("a\0b", "x" * 5000):
        where = {"host": text}
        yield Case(f"GET /studies/ {text[:9]!r}", ("not", "Not"), partial(_read, client, where))
        token = {"action": "revoke", "token": text}
        send = partial(_posted, client, "/account/token/", token)
        yield Case(f"POST /account/token/ {text[:9]!r}", ("not", "Not"), send)
        dataset = f"/hosts/{study.host.pk}/datasets/actions/delete/"
        yield _button(client, dataset, {"name": text}, "there is no dataset", "not allowed")


def _read(client: Client, asked: dict[str, str]) -> Said:
    answer = client.get("/studies/", asked)
    return Said(answer.content.decode(), answer.status_code == 404, answer.status_code)


def _form(
    client: Client, where: str, fields: dict[str, str], field: str, value: str, *places: str
) -> Case:
    names = (*places, f"{field}_error", *([html.escape(value)[:40]] if value else ()))
    send = partial(_posted, client, where, fields)
    return Case(f"POST {where} {field}={value[:40]!r}", names, send)


def _button(client: Client, where: str, fields: dict[str, str], *names: str) -> Case:
    return Case(f"POST {where} {fields}"[:120], names, partial(_warned, client, where, fields))


def _posted(client: Client, where: str, fields: dict[str, str]) -> Said:
    answer = client.post(where, fields)
    return Said(_refusals(answer), 400 <= answer.status_code < 500, answer.status_code)


def _warned(client: Client, where: str, fields: dict[str, str]) -> Said:
    """Buttons lead back to their page, with a warning above it."""
    answer = client.post(where, fields, follow=True)
    said = _refusals(answer)
    is_warned = said != answer.content.decode() and "warning" in said
    return Said(said, is_warned or answer.status_code >= 400, answer.status_code)


def _refusals(answer: Any) -> str:
    """What a page says of what is wrong, with the places; all of it where that is nothing."""
    text = answer.content.decode()
    found = re.findall(
        r'<ul class="errorlist".*?</ul>|<(?:p|div) class="notice (?!warning" id="offline).*?</'
        r'|<table [^>]*id="config-problems">.*?</table>|<section class="card bad".*?</section>',
        text,
        re.DOTALL,
    )
    return "\n".join(found) or text
