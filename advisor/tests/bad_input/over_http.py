"""Bad requests to the API and to the pages of a study that is over, as an administrator."""

from __future__ import annotations

import html
import json
import random
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from django.test import Client

from advisor.tests.bad_input.judging import Case, Said
from advisor.tests.test_api_contract import committed
from benchmarks.models import Host
from tuning.models import Study

_V1 = "/api/v1/"
HUGE = 10**30
#: Of a body all of whose fields another one has as well, so many wrong values are drawn.
_OF_THE_SAME = 15


# --- API: every field of every body, against what the document says of it ------------------------


def api_cases(client: Client, study: Study, place: Path, dice: random.Random) -> Iterator[Case]:
    """What the OpenAPI document forbids, field by field, and what only the services know."""
    known: set[str] = set()
    for where, method, good in bodies(study, place):
        schema = _schema_of(where, method)
        wrong = list(_violations(schema, dice))
        if known.issuperset(fields := schema.get("properties", {})):
            wrong = dice.sample(wrong, min(_OF_THE_SAME, len(wrong)))
        known |= set(fields)
        for field, value in wrong:
            places = [field, "Cannot parse"] if "\0" in str(value) else [field]
            yield _api(client, method, where, good | {field: value}, *places)
        unknown = "".join(dice.choices("abcdefgh_", k=12))
        yield _api(client, method, where, good | {unknown: 1}, unknown)
    for where, method, body, names in _known_to_services(study, place):
        yield _api(client, method, where, body, *names)
    yield from query_cases(client, study)


def query_cases(client: Client, study: Study) -> Iterator[Case]:
    """Parameters of addresses that make no sense."""
    for where, name, text in _queries(study):
        send = partial(_asked, client, "get", where, {name: text})
        yield Case(f"GET {where}?{name}={text[:30]!r}", (name, "NUL"), send)


def _api(client: Client, method: str, where: str, body: Any, *names: str) -> Case:
    text = json.dumps(body)
    send = partial(_asked, client, method, where, text, content_type="application/json")
    wrong = {name: body.get(name) for name in names if isinstance(body, dict) and name in body}
    return Case(f"{method.upper()} {where} {wrong or names}"[:200], names, send)


def _asked(client: Client, method: str, where: str, body: Any, **how: Any) -> Said:
    answer = getattr(client, method)(where, body, **how)
    text = answer.content.decode()
    is_refusal = 400 <= answer.status_code < 500 and {"code", "message"} <= set(
        answer.json()["error"]
    )
    return Said(text, is_refusal, answer.status_code)


def bodies(study: Study, place: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Address, method and a body that would be accepted."""
    host, device = study.host, study.devices.get()
    of_study, of_host = f"{_V1}studies/{study.pk}/", f"{_V1}hosts/{host.pk}/"
    wanted = good_study(study, place)
    text = wanted["configs"][0]["text"]
    yield f"{_V1}studies/", "post", wanted
    yield f"{_V1}search-space/", "post", wanted | {"template": "search"}
    yield f"{_V1}proposals/", "post", {"template": "first-answer", "host": host.name}
    hosts = [*Host.objects.order_by("pk").values_list("name", flat=True)[:2]]
    yield f"{_V1}study-groups/", "post", {"template": "quick", "hosts": hosts}
    candidate = {"config": wanted["configs"][0]}
    gate = {
        "name": "nightly",
        "candidate": candidate,
        "host": host.name,
        "device": {"path": str(place)},
    }
    yield f"{_V1}gates/", "post", gate
    yield f"{_V1}configs/translate/", "post", {"text": text, "target": "mysql 8.4"}
    yield f"{_V1}configs/diff/", "post", {"left": text, "right": text, "target": "mysql 8.4"}
    yield f"{of_host}datasets/delete/", "post", {"name": "mysql-9.7.4-1w"}
    yield f"{of_study}extend/", "post", {"blocks": 2}
    yield f"{of_study}pause/", "post", {"reason": ""}
    yield f"{of_study}recommendation/export/", "post", {"format": "my.cnf"}
    yield f"{of_host}drain/", "post", {"reason": ""}
    yield f"{of_host}retire/", "post", {"reason": ""}
    yield f"{of_host}inspect/", "post", {}
    yield f"{_V1}configs/check/", "post", {"text": "[mysqld]\n", "target": "mysql 8.4"}
    yield f"{_V1}devices/", "post", {"path": str(place), "host": host.name}
    yield f"{_V1}devices/{device.pk}/", "patch", {"kind": "hdd"}
    yield f"{_V1}devices/{device.pk}/probes/", "post", {"seconds": 50}


def good_study(study: Study, place: Path) -> dict[str, Any]:
    """A request for a study that the host of `study` accepts."""
    return {
        "template": "compare",
        "host": study.host.name,
        "devices": [{"path": str(place)}],
        "warehouses": 1,
        "connections": [1],
        "configs": [{"name": "mine", "text": "[mysqld]\ninnodb_io_capacity = 300\n"}],
    }


def described_bodies() -> Iterator[tuple[str, str]]:
    """Address and method of all that have one in JSON."""
    for path, methods in committed()["paths"].items():
        for method, one in methods.items():
            if "application/json" in one.get("requestBody", {}).get("content", {}):
                yield path.replace("{pk}", "{id}"), method


def _schema_of(where: str, method: str) -> dict[str, Any]:
    path = re.sub(r"/\d+/", "/{id}/", where)
    paths = committed()["paths"]
    described = paths.get(path) or paths[path.replace("{id}", "{pk}")]
    body = described[method]["requestBody"]["content"]["application/json"]
    return _resolved(body["schema"])


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    for one in schema.get("anyOf", []):
        if one.get("type") != "null":
            return _resolved(one)
    for one in [schema, *schema.get("allOf", []), *schema.get("oneOf", [])]:
        if "$ref" in one:
            name = one["$ref"].rpartition("/")[2]
            return _resolved(dict(committed()["components"]["schemas"][name])) | {
                key: value for key, value in schema.items() if key not in ("$ref", "allOf")
            }
    return schema


def _violations(schema: dict[str, Any], dice: random.Random) -> Iterator[tuple[str, Any]]:
    """(field, value) for values that the document forbids, some of them drawn."""
    for field, described in schema.get("properties", {}).items():
        one = _resolved(described)
        kinds = one.get("type", "object" if "properties" in one else "string")
        for value in _bad_values([kinds] if isinstance(kinds, str) else kinds, one, dice):
            yield field, value


def _bad_values(kinds: list[str], one: dict[str, Any], dice: random.Random) -> Iterator[Any]:
    drawn = "".join(dice.choices("qwxyz", k=dice.randint(3, 12)))
    number = dice.randint(1, 10**6)
    if "enum" in one:
        yield from (drawn, [drawn], {drawn: number})
    elif "string" in kinds:
        yield from ([drawn], {drawn: number}, True, f"{drawn}\0{drawn}")
        if "maxLength" in one:
            yield drawn[0] * (one["maxLength"] + dice.randint(1, 50))
    elif "boolean" in kinds:
        yield from (drawn, number + 1, [True], {})
    elif "integer" in kinds or "number" in kinds:
        yield from (drawn, [number], {}, HUGE, -HUGE, "1e999", f"{number}\0")
        if "integer" in kinds:
            yield number + 0.5
        if "minimum" in one:
            yield one["minimum"] - dice.randint(1, 1000)
        if "maximum" in one:
            yield one["maximum"] + dice.randint(1, 1000)
    elif "array" in kinds:
        yield from (drawn, number, {drawn: 1}, [[drawn]], [None])
        if one.get("minItems"):
            yield []
        if "maxItems" in one:
            yield [number] * (one["maxItems"] + 1)
    else:
        yield from (drawn, number, [drawn])


def _known_to_services(study: Study, place: Path) -> Iterator[tuple[str, str, Any, list[str]]]:
    """Requests that have the right form, and yet make no sense."""
    good = good_study(study, place)
    studies = f"{_V1}studies/"
    search = good | {"template": "search"}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"template": "nonesuch"}, "nonesuch"),
        ({"host": "nowhere"}, "nowhere"),
        ({"devices": [{"path": "/nowhere/at/all"}]}, "/nowhere/at/all"),
        ({"devices": [{"path": "relative/path"}]}, "relative/path"),
        ({"devices": [{"path": "/tmp/../etc"}]}, "/tmp/../etc"),
        ({"devices": [{"path": "/" + "x" * 1000}]}, "xxxx"),
        ({"devices": [{"path": "~root"}]}, "~root"),
        ({"server": "/bin/true"}, "/bin/true"),
        ({"server": "mysqld"}, "mysqld"),
        ({"load_hosts": "nowhere"}, "nowhere"),
        ({"driver": "tpcc-mysql"}, "tpcc-mysql"),
        ({"warehouses": 10**7}, "warehouses"),
        ({"connections": [1, 1]}, "connections"),
        ({"connections": [10**7]}, "connections"),
        ({"measure_s": 10**7}, "measure_s"),
        ({"warmup_s": 10**7}, "warmup_s"),
        ({"blocks": 10**7}, "blocks"),
        ({"translate_from": "oracle 23"}, "oracle 23"),
        ({"translate_from": "mysql 99"}, "mysql 99"),
        ({"devices": [None]}, "devices"),
        ({"devices": [{"path": "/nowhere"}]}, "/nowhere"),
        ({"devices": [{"path": str(place), "emulate": "floppy"}]}, "floppy"),
        ({"devices": [{"path": str(place), "memory_mb": 1}]}, "memory_mb"),
        ({"devices": [{"path": str(place), "log_dir": "/no"}]}, "/no"),
        ({"devices": [{"path": str(place)}] * 2}, "devices"),
        ({"data_size": "200G"}, "memory"),
        ({"memory": "48G"}, "data_size"),
        ({"data_size": "-1G", "memory": "48G"}, "data_size"),
        ({"data_size": "200X", "memory": "48G"}, "data_size"),
        ({"allow": ["speed"]}, "speed"),
        ({"configs": []}, "config"),
        ({"configs": [{"name": "a/b", "text": "[mysqld]\n"}]}, "a/b"),
        ({"configs": [{"name": "mine", "text": "[mysqld]\n"}] * 2}, "mine"),
        ({"configs": [{"name": "server-default", "text": "[mysqld]\n"}]}, "server-default"),
        ({"configs": [{"text": "[mysqld]\n"}]}, "name"),
        ({"configs": [{"name": "mine"}]}, "text"),
        ({"configs": [{"name": "mine", "text": "\0"}]}, "text"),
    ]
    for change, name in wrong:
        yield studies, "post", good | change, [name]
    in_search: list[tuple[dict[str, Any], str]] = [
        ({"knobs": ["nonesuch"]}, "nonesuch"),
        ({"pinned": {"nonesuch": "1"}}, "nonesuch"),
        ({"pinned": {"innodb_io_capacity": "x"}}, "innodb_io_capacity"),
        ({"bounds": {"innodb_io_capacity": ["9", "3"]}}, "innodb_io_capacity"),
        ({"bounds": {"innodb_io_capacity": ["a", "b"]}}, "innodb_io_capacity"),
        ({"bounds": {"innodb_io_capacity": ["1"]}}, "innodb_io_capacity"),
        ({"bounds": {"datadir": ["1", "2"]}}, "datadir"),
        ({"objective": "beauty"}, "beauty"),
        ({"keep": {"p95": -1}}, "p95"),
        ({"keep": {"beauty": 1}}, "beauty"),
        ({"keep": {"recovery": 10**30}}, "1e+30"),
    ]
    for asked, name in in_search:
        yield studies, "post", search | {"search": asked}, [name]
        yield f"{_V1}search-space/", "post", search | {"search": asked}, [name]
    one = f"{_V1}studies/{study.pk}/"
    for rest in ("pause/", "resume/", "cancel/", "conclude/"):
        yield one + rest, "post", {}, ["ended", "not_paused", "paused", "finished"]
    yield f"{one}extend/", "post", {}, ["blocks"]
    export = f"{one}recommendation/export/"
    yield export, "post", {"format": "pdf"}, ["pdf"]
    yield export, "post", {"format": "diff"}, ["current"]
    yield export, "post", {"format": "diff", "current": "[mysqld]\nnonsense\0"}, ["current"]
    for missing in ("studies/4711/pause/", "hosts/4711/drain/", "devices/4711/probes/"):
        yield _V1 + missing, "post", {"reason": ""}, ["not_found"]
    for body in ("", "{", "[]", "null", "7", '"text"', '{"a":1,}', "\xff"):
        yield studies, "post", body, ["parse_error", "invalid_request", "JSON", "object"]
    check = f"{_V1}configs/check/"
    yield check, "post", {}, ["text"]
    yield check, "post", {"text": "[mysqld]\n", "target": "oracle 23"}, ["oracle 23", "target"]
    yield check, "post", {"text": "[mysqld]\n", "host": "nowhere"}, ["nowhere"]
    devices = f"{_V1}devices/"
    yield devices, "post", {"path": "here"}, ["here"]
    yield devices, "post", {"path": str(place), "emulate": "floppy"}, ["floppy"]
    yield devices, "post", {"path": str(place), "kind": "hdd", "emulate": "hdd"}, ["kind"]
    yield f"{devices}{study.devices.get().pk}/probes/", "post", {"seconds": 1}, ["seconds"]


def _queries(study: Study) -> Iterator[tuple[str, str, str]]:
    for list_of in ("studies/", "hosts/", "devices/", "study-groups/"):
        for name, texts in {
            "page": ("0", "-1", "x", "9" * 25, "1.5", "\0"),
            "page_size": ("0", "-5", "x", "100000", "9" * 25),
        }.items():
            for text in texts:
                yield _V1 + list_of, name, text
    for list_of, names in {
        "studies/": ("host", "name", "template"),
        "runs/": ("host", "config"),
        "gates/": ("host", "name"),
        "recommendations/": ("host",),
        "servers/": ("host",),
    }.items():
        for name in names:
            yield _V1 + list_of, name, "a\0b"
    for list_of, name in (("studies/", "device"), ("studies/", "group"), ("runs/", "study")):
        for text in ("9" * 19, "9" * 30, "-1", "1\0"):
            yield _V1 + list_of, name, text
    one = f"{_V1}studies/{study.pk}/"
    for name in ("device", "connections", "durability", "lines", "acknowledge", "as_measured"):
        yield f"{one}recommendation/my.cnf", name, "nonesuch"


# --- pages: every form ---------------------------------------------------------------------------


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
        "load_hosts": (drawn,),
        "durability": ("D3", drawn),
        "translate_from": (drawn,),
        "emulate": (drawn,),
        "name": ("x" * 300,),
        "config_name": ("server-default", "x" * 300),
        "config_text": ("", "[mysqld]\nnonsense_knob = 1", "[mysqld]\n!include /etc/passwd"),
        "data_size": (drawn, "-5G"),
        "memory": (drawn, "5"),
        "allow": (drawn,),
    }
    said = {"config_text": ("mine", "nonsense_knob", "include")}
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
    for field in ("target", "host", "connections", "durability", "translate_from"):
        yield _form(client, "/configs/check/", check | {field: drawn}, field, drawn)
    yield _form(client, "/configs/check/", {"config_text": ""}, "config_text", "paste a my.cnf")
    export = f"/studies/{study.pk}/recommendations/{study.recommendations.get().pk}/export/"
    yield _form(client, export, {"format": drawn}, "format", drawn)
    for value in ("[mysqld\nx", "\0"):
        yield _form(client, export, {"format": "diff", "current": value}, "current", "urrent")
    for value in (drawn, "", "0", number):
        extend = f"/studies/{study.pk}/actions/extend/"
        yield _button(client, extend, {"blocks": value}, "blocks: ")
    for name, value in (("days", drawn), ("days", "-1"), ("days", number), ("scope", drawn)):
        token = {"name": "nightly", "scope": "read", "days": "5"}
        yield _form(client, "/account/token/", token | {name: value}, name, value)
    yield _form(client, "/account/token/", {"scope": "read"}, "name", "required")
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
        said = "null characters" if "\0" in text else "there is no dataset"
        yield _button(client, dataset, {"name": text}, said)


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
