"""Every template plans on every server: variants pass the gate or are left out with a note."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.datafiles import read_data_file
from benchmarks.errors import InvalidDataFile
from benchmarks.servers.binary import Flavour
from tuning.catalogue.knob import Durability
from tuning.catalogue.resources import HostResources, read_amount
from tuning.catalogue.target import ServerTraits
from tuning.configs.candidates import PlannedCandidate, plan_candidates
from tuning.configs.expected import HostFacts
from tuning.configs.line import Action
from tuning.configs.price import durability_of
from tuning.configs.situation import Situation
from tuning.configs.values import config_hash
from tuning.creation.plan import plan_of
from tuning.creation.preview import template_seconds
from tuning.errors import BadRequest, InvalidConfig
from tuning.proposals.rules import plan_proposals
from tuning.requests.study import StudyRequest
from tuning.study_templates.loader import StudyTemplate, load_template, template_names

MIB = 1024**2
RESOURCES = HostResources(memory_bytes=8 << 30, logical_cpus=2, data_bytes=1000 * MIB)
MYSQL = ServerTraits(Flavour.MYSQL, (9, 7, 4))
MARIADB = ServerTraits(Flavour.MARIADB, (10, 11, 19))
SERVERS = [
    ServerTraits(Flavour.MYSQL, (5, 7, 44)),
    ServerTraits(Flavour.MYSQL, (8, 0, 40)),
    ServerTraits(Flavour.MYSQL, (8, 4, 4)),
    MYSQL,
    MARIADB,
]
# What has nothing to offer there at all.
REFUSED = {("thread-concurrency", MARIADB)}
OUR_OWN = {"compare", "first-answer", "noise-floor", "schools", "search", "your-server"}
WITH_SOURCE = sorted(set(template_names()) - OUR_OWN)


def plan(
    template: StudyTemplate,
    target: ServerTraits = MYSQL,
    durability: Durability = Durability.D0,
    host: HostFacts | None = None,
    files: tuple[tuple[str, bytes], ...] = (),
) -> list[PlannedCandidate]:
    situation = Situation(target, RESOURCES, host or HostFacts(), durability=durability)
    proposals = plan_proposals(template.proposals, situation)
    return plan_candidates(template, files, situation, proposals=proposals)


@pytest.mark.parametrize("name", template_names())
def test_every_template_plans_on_every_server(name: str) -> None:
    for target in SERVERS:
        check_it_plans(name, target)


def check_it_plans(name: str, target: ServerTraits) -> None:
    template = load_template(name)
    if (name, target) in REFUSED:
        with pytest.raises(InvalidConfig, match="removed in"):
            plan(template, target)
        return
    planned = plan(template, target)
    assert [one.is_baseline for one in planned] == [True] + [False] * (len(planned) - 1)
    assert [one.name for one in planned if one.left_out] == []
    if not template.copies_of_baseline:
        assert [one.name for one in planned] == list(template.candidates)
        distinct = {(config_hash(one.knobs), one.logs_with_data) for one in planned}
        assert len(distinct) == len(planned)
    for one in planned:
        assert durability_of(one.knobs) <= template.durability
        variant = template.variants.get(one.name)
        if variant is not None:
            assert set(variant.knobs) <= set(one.knobs)
            assert variant.title in one.source


@pytest.mark.parametrize("name", WITH_SOURCE)
def test_a_template_names_what_it_repeats(name: str) -> None:
    template = load_template(name)
    assert template.repeats
    assert bool(template.claims) == (name != "quick")
    # What leaves a race or is cut short in one has too few figures to decide a claim.
    assert template.races == (name == "quick")


def template_with(tmp_path: Path, text: str) -> StudyTemplate:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "title: Mine\nwarehouses: 1\nconnections: [1]\nwarmup_s: 0\nmeasure_s: 1\nblocks: 1\n"
        + text
    )
    return read_data_file(path, StudyTemplate, is_named=True)


VARIANTS = """
baseline: small
variants:
  small: {title: Six per cent, knobs: {innodb_buffer_pool_size: 6 % of data}}
  memory: {title: Of memory, knobs: {innodb_buffer_pool_size: 25 % of memory}}
  plain: {title: As it is, knobs: {innodb_buffer_pool_size: 256M, innodb_doublewrite: ON}}
  cores: {title: Per core, base: whitepaper-3, knobs: {innodb_read_io_threads: 1.5 per core}}
"""


def test_values_may_be_shares_of_what_the_host_has(tmp_path: Path) -> None:
    template = template_with(tmp_path, VARIANTS)
    small, memory, plain, cores = plan(template)
    assert small.knobs == {"innodb_buffer_pool_size": str(60 * MIB)}
    assert [(n.name, n.action, n.detail) for n in small.notes] == [
        ("innodb_buffer_pool_size", Action.ADJUSTED, "6 % of data: 60M for 1000 MiB of data (6 %)")
    ]
    assert memory.knobs == {"innodb_buffer_pool_size": str(2048 * MIB)}
    assert plain.knobs == {
        "innodb_buffer_pool_size": str(256 * MIB),
        "innodb_doublewrite": "ON",
    }
    base = next(one for one in plan(load_template("quick")) if one.name == "whitepaper-3")
    assert cores.knobs == {**base.knobs, "innodb_read_io_threads": "3"}
    assert cores.source.startswith("Per core. ")
    assert "Table 6" in cores.source
    assert {"datadir", "innodb_buffer_pool_size"} <= {note.name for note in cores.notes}


def test_a_variant_that_does_not_fit_is_left_out_and_keeps_where_its_log_is(
    tmp_path: Path,
) -> None:
    text = VARIANTS.replace("25 % of memory}", "400 % of memory}, logs_with_data: true")
    template = template_with(tmp_path, f"needs_log_device: true\n{text}")
    planned = plan(template, host=HostFacts(memory_budget_bytes=8 << 30))
    assert [one.name for one in planned if one.left_out] == ["memory"]
    assert "memory" in planned[1].left_out
    assert planned[1].logs_with_data


def test_a_redo_log_elsewhere_makes_another_candidate_of_the_same_knobs() -> None:
    template = load_template("log-device")
    assert template.needs_log_device
    planned = {one.name: one for one in plan(template)}
    for pair in ("default", "whitepaper-a"):
        apart, with_data = planned[f"{pair}-apart"], planned[f"{pair}-with-data"]
        assert apart.knobs == with_data.knobs
        assert (apart.logs_with_data, with_data.logs_with_data) == (False, True)
    assert planned["default-with-data"].is_baseline
    others = [name for name in template_names() if name != "log-device"]
    assert not any(load_template(name).needs_log_device for name in others)
    assert not any(one.logs_with_data for one in plan(load_template("quick")))


def test_a_variant_that_the_server_does_not_know_is_left_out(tmp_path: Path) -> None:
    template = template_with(
        tmp_path,
        """
baseline: server-default
presets: [server-default]
variants:
  limited: {title: A limit, knobs: {innodb_thread_concurrency: 4}}
  io: {title: More I/O, knobs: {innodb_io_capacity: 2000}}
""",
    )
    baseline, limited, io = plan(template, MARIADB)
    assert (baseline.left_out, io.left_out) == ("", "")
    assert limited.knobs == {}
    assert "innodb_thread_concurrency: MariaDB 10.11.19 does not have it" in limited.left_out
    assert [one.left_out for one in plan(template, MYSQL)] == ["", "", ""]


def test_without_direct_io_its_variants_are_left_out() -> None:
    host = HostFacts(direct_io=False)
    planned = plan(load_template("flush-method"), host=host)
    left_out = {one.name: one.left_out for one in planned if one.left_out}
    assert set(left_out) == {"o-direct"}
    assert "does not support O_DIRECT" in left_out["o-direct"]


def test_a_baseline_that_cannot_be_had_refuses_the_study() -> None:
    with pytest.raises(InvalidConfig, match=r"unlimited: not possible on MariaDB 10\.11\.19"):
        plan(load_template("thread-concurrency"), MARIADB)


def test_a_templates_class_is_not_that_of_the_users_files() -> None:
    template = load_template("durability-price")
    planned = plan(template)
    assert {one.name: str(durability_of(one.knobs)) for one in planned} == {
        "durable": "D0",
        "commits-each-second": "D1",
        "logs-each-second": "D1",
        "no-doublewrite": "D2",
        "nothing-safe": "D2",
    }
    files = (("mine", b"[mysqld]\nsync_binlog=0\n"),)
    mine = plan(template, files=files)[-1]
    assert (mine.name, mine.left_out, str(durability_of(mine.knobs))) == ("mine", "", "D1")


def test_connections_grow_with_the_processors() -> None:
    template = load_template("connections")
    assert template.connections == ()
    assert template.connections_on(2) == (2, 4, 8, 16, 32)
    assert template.connections_on(32) == (32, 64, 128, 256, 512)
    assert load_template("quick").connections_on(32) == (8,)


def test_connections_are_never_the_same_number_twice(tmp_path: Path) -> None:
    text = "baseline: server-default\npresets: [server-default]\n"
    template = template_with(tmp_path, text)
    path = tmp_path / "mine.yaml"
    scaled = "connections_per_core: [0.1, 0.25, 1, 1.2]"
    path.write_text(path.read_text().replace("connections: [1]", scaled))
    assert template.connections_on(4) == (1,)
    assert read_data_file(path, StudyTemplate, is_named=True).connections_on(1) == (1,)
    assert read_data_file(path, StudyTemplate, is_named=True).connections_on(10) == (1, 2, 10, 12)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("baseline: small", "baseline: tiny", "not among the presets and variants"),
        ("small:", "Sma ll:", "variants/Sma ll/name: String should match"),
        ("\nvariants", "\nproposals: [small]\nvariants", "small is more than one of"),
        ("title: As it", "logs_with_data: true, title: As it", "needs_log_device is missing"),
        ("innodb_doublewrite: ON", "log_bin: ON", "log_bin: not a variable of"),
        ("innodb_doublewrite: ON", "innodb_doublewrite: 6 % of disk", "is not like `6 % of data`"),
    ],
)
def test_a_broken_template_is_refused(old: str, new: str, reason: str, tmp_path: Path) -> None:
    assert old in VARIANTS
    with pytest.raises(InvalidDataFile, match=reason):
        template_with(tmp_path, VARIANTS.replace(old, new))


@pytest.mark.parametrize(
    ("value", "figure"),
    [
        ("6 % of data", str(60 * MIB)),
        ("12.5% of memory", str(1 << 30)),
        ("2 per core", "4"),
        ("0.1 per core", "1"),
        ("128M", "128M"),
        (200, "200"),
        (True, "ON"),
        (False, "OFF"),
    ],
)
def test_amounts(value: str | int | bool, figure: str) -> None:
    assert read_amount(value).figure(RESOURCES) == figure


@pytest.mark.parametrize("value", ["6 % of nothing", "6%", "2 per CPU", "a few of them", 1.5, []])
def test_what_is_no_amount_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"is not like|a value must be text"):
        read_amount(value)


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "templates.md").read_text()


def test_the_page_lists_every_template_with_the_minutes_it_takes() -> None:
    listed = re.findall(r"^\| `([a-z-]+)` \|[^|]*\| ([0-9]+) \|", PAGE, re.MULTILINE)
    assert sorted(name for name, _ in listed) == template_names()
    for name, minutes in listed:
        template = load_template(name)
        seconds = template_seconds(template, 2)
        if name == "compare":  # with one file
            seconds *= 3 / 2
        assert int(minutes) == pytest.approx(seconds / 60, abs=0.5), name


def test_the_example_on_the_page_is_a_template(tmp_path: Path) -> None:
    [example] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    path = tmp_path / "mine.yaml"
    path.write_text(example)
    assert [one.name for one in plan(read_data_file(path, StudyTemplate, is_named=True))] == [
        "server-default",
        "large-pool",
        "large-log",
    ]


def test_a_preset_that_does_not_fit_into_the_memory_is_left_out_and_the_others_stay() -> None:
    small = HostFacts(memory_budget_bytes=700 * MIB, host_memory_bytes=24 << 30)
    planned = plan(load_template("first-answer"), host=small)
    left_out = {one.name: one.left_out for one in planned if one.left_out}
    assert "dedicated-server" in left_out
    assert "of memory available here" in left_out["dedicated-server"]
    assert len(planned) - len(left_out) > 1


def test_a_template_of_published_figures_takes_no_other_workload() -> None:
    with pytest.raises(BadRequest, match="published measurements of TPC-C") as refused:
        plan_of(StudyRequest(template="whitepaper-configs", workload="oltp_read_write"))
    assert refused.value.field == "workload"
