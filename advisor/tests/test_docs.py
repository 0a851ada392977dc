"""The documents say what the program does: settings, commands and make targets are compared."""

from __future__ import annotations

import re
import shlex
import struct
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import pytest
from django.conf import settings
from django.core.management import get_commands, load_command_class
from django.test import Client

from advisor import environment
from bench.pictures.scenes import NAMES, WIDTH

ROOT = Path(settings.BASE_DIR)
DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
CODE = [*(ROOT / name for name in ("advisor/settings.py", "benchmarks/drivers/tpcc_mysql.py"))]
CODE.append(ROOT / "benchmarks/processes/users.py")
CODE.append(ROOT / "benchmarks/host/cgroups.py")
CODE.append(ROOT / "benchmarks/storage/reserve.py")


def commands() -> Iterator[tuple[str, list[str]]]:
    """(document, words) of every call of make or manage.py in a shell block."""
    for path in DOCUMENTS:
        for block in re.findall(r"```(?:sh|bash|console)\n(.*?)```", path.read_text(), re.S):
            for line in block.replace("\\\n", " ").splitlines():
                if line.startswith("make ") or "manage.py " in line:
                    yield path.name, shlex.split(line, comments=True)


def manage_commands() -> list[tuple[str, list[str]]]:
    found = []
    for document, words in commands():
        if "manage.py" in words:
            rest = words[words.index("manage.py") + 1 :]
            stop = next((n for n, word in enumerate(rest) if word[0] in "<>|&"), len(rest))
            found.append((document, rest[:stop]))
    return found


@pytest.mark.parametrize(("document", "words"), manage_commands())
def test_every_manage_command_in_the_documents_is_one_the_program_takes(
    document: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, *arguments = words
    assert name in get_commands(), f"{document}: manage.py {name}"
    for file in ("candidate.cnf", "mine.cnf", "profile.txt"):
        (tmp_path / file).write_text("[mysqld]\n")
    monkeypatch.chdir(tmp_path)
    command = load_command_class(get_commands()[name], name)
    command.create_parser("manage.py", name).parse_args(arguments)


def test_the_readme_names_the_commands_this_is_tested_with() -> None:
    assert any(words[0] == "advise" for _, words in manage_commands())


def test_every_make_target_in_the_documents_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = {words[1] for _, words in commands() if words[0] == "make" and len(words) > 1}
    assert {"run", "test"} <= named <= targets


def test_the_settings_page_lists_exactly_the_variables_that_are_read() -> None:
    page = environment.PAGE.read_text()
    assert environment.table() in page, "run: .venv/bin/python -m advisor.environment"
    documented = {setting.name for setting in environment.SETTINGS}
    pattern = re.compile(r'"((?:ADVISOR_|TPCC_)[A-Z_]+|DATABASE_URL|REDIS_URL)"')
    read = {name for path in CODE for name in pattern.findall(path.read_text())}
    assert documented == read


def test_no_other_module_reads_the_environment() -> None:
    readers = {
        path.relative_to(ROOT).as_posix()
        for package in ("advisor", "tuning", "benchmarks")
        for path in (ROOT / package).rglob("*.py")
        if "/tests/" not in path.relative_to(ROOT).as_posix()
        and re.search(r"os\.environ(\.get\(|\[)|os\.getenv", path.read_text())
    }
    known = {path.relative_to(ROOT).as_posix() for path in CODE}
    # discovery.py looks along PATH, as a shell does.
    assert readers == known - {"advisor/settings.py"} | {"benchmarks/inventory/inspection.py"}


def links() -> list[tuple[str, str]]:
    """(document, target) of every relative link, and of every path of the code in backquotes."""
    found = []
    for path in DOCUMENTS:
        text = re.sub(r"```.*?```", "", path.read_text(), flags=re.S)
        targets = [
            target
            for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
            if "://" not in target
        ]
        code = re.findall(r"`((?:advisor|tuning|benchmarks|scripts|docs)/[\w./-]*)`", text)
        targets += [f"/{target}" for target in code]
        found += [(path.relative_to(ROOT).as_posix(), target) for target in targets]
    return sorted(set(found))


def test_what_documents_point_to_is_there() -> None:
    missing = []
    for document, target in links():
        base = ROOT if target.startswith("/") else (ROOT / document).parent
        if not (base / target.lstrip("/")).exists():
            missing.append(f"{document}: {target}")
    assert missing == []


def test_the_index_leads_to_every_document() -> None:
    page = (ROOT / "docs" / "index.md").read_text()
    folder = ROOT / "docs"
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*.md")} - {"index.md"}
    linked = set(re.findall(r"\]\(([\w./-]+)\)", page))
    assert there <= linked


def test_the_pictures_of_the_documents_are_those_that_are_made_and_small() -> None:
    shown = [
        Path(target).name
        for _, target in links()
        if "pictures/" in target and target.endswith(".png")
    ]
    there = sorted((ROOT / "docs" / "pictures").iterdir())
    assert sorted(set(shown)) == [path.name for path in there]
    assert {path.stem for path in there} == set(NAMES)
    for path in there:
        data = path.read_bytes()
        width, _ = struct.unpack(">II", data[16:24])
        assert (data[:8], width) == (b"\x89PNG\r\n\x1a\n", WIDTH), path.name
        assert len(data) <= 150_000, path.name


# --- as the app shows them under Help ------------------------------------------------------------


SHOWN = sorted(
    path.relative_to(settings.BASE_DIR).as_posix()
    for path in (settings.BASE_DIR / "docs").rglob("*.md")
)


@pytest.mark.django_db
def test_every_link_of_every_document_leads_somewhere(admin_client: Client) -> None:
    broken, looked_at = [], set()
    for name in SHOWN:
        page = admin_client.get(f"/help/{name}").content.decode()
        body = page[page.index('<article class="document">') : page.index("</article>")]
        for target in re.findall(r'(?:href|src)="([^"#:]+)(?:#[^"]*)?"', body):
            address = urljoin(f"/help/{name}", target)
            if address not in looked_at and admin_client.get(address).status_code != 200:
                broken.append(f"{name}: {target}")
            looked_at.add(address)
    assert broken == []
    assert len(looked_at) > len(SHOWN)


@pytest.mark.django_db
def test_headings_are_targets_and_comments_are_not_shown(admin_client: Client) -> None:
    page = admin_client.get("/help/docs/reference/settings.md").content.decode()
    assert '<h2 id="behind-a-proxy">' in page
    assert "settings: begin" not in page


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path",
    [
        *("manage.py", "docs/../advisor/settings.py", "var/private/first-password", "docs"),
        *("x.md", "docs/%00.md", f"docs/{'long' * 99}.md"),
    ],
)
def test_nothing_but_documents_is_shown(admin_client: Client, path: str) -> None:
    assert admin_client.get(f"/help/{path}").status_code == 404
