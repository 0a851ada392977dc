"""Compare, config and help: sides by link, ratios only where comparable, one source of words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from advisor.tests import factories
from advisor.tests.drawn import flat, words
from advisor.wording.definitions import BY_KEY
from advisor.wording.formatting import percent_change
from benchmarks.models import Run
from tuning.comparison.side_by_side import lay_side_by_side
from tuning.comparison.sides import MAX_SIDES, find_sides
from tuning.models import Study
from tuning.results.build import build
from tuning.results.study_rows import StudyRows
from tuning.statistics.data import Metric

pytestmark = pytest.mark.django_db


def shown(client: Client, *sides: str) -> str:
    answer = client.get(reverse("compare"), {"side": sides})
    assert answer.status_code == 200
    return words(flat(answer))


def candidates(study: Study) -> list[str]:
    return [f"candidate-{one.pk}" for one in study.candidates.order_by("position")]


def test_candidates_of_a_study_are_compared_within_their_blocks(admin_client: Client) -> None:
    study = factories.measured_study(blocks=3, samples=True)
    baseline, slow, *_, best = candidates(study)
    laid = lay_side_by_side(find_sides([baseline, slow, best]).sides)
    assert laid.is_comparable
    first, worse, better = map(factories.sure, laid.figures["throughput"])
    assert first.change is None
    assert (first.runs, first.better) == (6, None), "the baseline runs twice in each block"
    assert factories.sure(better.change).ratio == pytest.approx(8510 / 6120, rel=0.05)
    assert better.better is True
    # What is compared with another candidate is worked out afresh, within their blocks.
    _, afresh = lay_side_by_side(find_sides([slow, best]).sides).figures["throughput"]
    assert factories.sure(factories.sure(factories.sure(afresh).change).low) > 1
    assert worse.better is not True
    p95 = factories.sure(laid.figures["p95_ms"][2])
    assert p95.better is True, "less is better"
    knobs = {knob.name: knob for knob in laid.knobs}
    assert knobs["innodb_io_capacity"].values == [None, "1000", "4000"]
    assert knobs["innodb_io_capacity"].is_set == [False, True, True]
    text = shown(admin_client, baseline, slow, best)
    assert "▲ measurably better" in text
    assert "Not measured under the same conditions" not in text
    charts = admin_client.get(reverse("compare-charts"), {"side": [baseline, slow, best]}).json()[
        "charts"
    ]
    names = {"completed", "p95_ms", "cpu_busy_pct", "latency", "cdf", "path", "bytes"}
    assert set(charts) == names
    page = admin_client.get(reverse("compare"), {"side": [baseline, slow, best]})
    assert set(re.findall(r'data-chart="(\w+)"', page.text)) == names
    units = {"completed": "per second", "p95_ms": "ms (p95)", "cpu_busy_pct": "% of all CPUs"}
    for name, unit in units.items():
        assert charts[name]["data"][0]["hovertemplate"].endswith(
            f" {unit}<extra>A: server-default</extra>"
        )
    assert [line["name"] for line in charts["latency"]["data"]] == [
        "A: server-default",
        "B: whitepaper-1",
        "C: whitepaper-a",
    ]


def test_changes_from_a_studys_baseline_are_those_of_its_page(admin_client: Client) -> None:
    study = factories.raced_study()
    [board] = build(StudyRows(study)).boards
    names = [one.pk for one in study.candidates.order_by("-is_baseline", "position")]
    laid = lay_side_by_side(find_sides([f"candidate-{pk}" for pk in names]).sides)
    for column, metric in (("throughput", Metric.THROUGHPUT), ("p95_ms", Metric.P95)):
        _, *others = laid.figures[column]
        for pk, figure in zip(names[1:], others, strict=True):
            row = factories.sure(board.row(pk))
            standing = factories.sure(board.rankings[metric].standing(pk))
            expected = (standing.estimate, row.figures.of(metric))
            assert (factories.sure(figure).change, factories.sure(figure).median) == expected
    page = admin_client.get(
        reverse("config-detail", args=[study.candidates.latest("position").config_id])
    )
    best = board.rankings[Metric.THROUGHPUT].standing(study.candidates.latest("position").pk)
    assert best is not None
    assert percent_change(best.ratio) in page.text


def test_what_was_not_measured_alike_has_no_ratio_and_says_what_differs(
    admin_client: Client,
) -> None:
    study = factories.measured_study(blocks=2)
    other = factories.measured_study(
        blocks=2, device=factories.make_device(kind="nvme", data_dir="/srv/nvme")
    )
    facts = {**factories.FINGERPRINT, "kernel": "6.12.0", "memory_bytes": str(64 * 2**30)}
    Run.objects.filter(slot__study=other).update(comparability_key="b2" * 32, fingerprint=facts)
    laid = lay_side_by_side(find_sides([f"study-{study.pk}", f"study-{other.pk}"]).sides)
    assert not laid.is_comparable
    assert {"Device", "kernel"} <= {name for name, _ in laid.differs}
    assert all(one is None or one.change is None for one in laid.figures["throughput"])
    text = shown(admin_client, f"study-{study.pk}", f"study-{other.pk}")
    assert "kernel 6.1.0-37-cloud-amd64 6.12.0" in text
    assert "memory 25.2 GB 68.7 GB" in text, "not how many steps of it"
    assert "whitepaper-a" in text, "a study stands for what it recommends"


def test_links_that_name_nothing_say_so(admin_client: Client) -> None:
    study = factories.measured_study(blocks=1, fails=["whitepaper-1"])
    failed = candidates(study)[1]
    text = shown(admin_client, failed, "run-999999", "<b>config", "run-" + "9" * 18, "x" * 5000)
    assert "whitepaper-1 of Quick comparison has no successful run" in text
    assert "Nothing is chosen" not in text
    assert "run-999999 has no successful run" in text
    assert "<b>config not a name of a run" in text
    assert "x" * 61 not in text
    assert "Nothing is chosen yet. Add a study" in shown(admin_client)
    one = shown(admin_client, f"run-{study.slots.earliest('order').run_id}")
    assert "Add a second one" in one


def test_what_the_form_picks_becomes_part_of_the_address(admin_client: Client) -> None:
    study = factories.measured_study(blocks=1)
    run = study.slots.earliest("order").run_id
    answer = admin_client.get(
        reverse("compare"), {"side": ["study-1"], "add": f"study-{study.pk}", "run": f" #{run}"}
    )
    expected = "".join(f"&side={one}" for one in (f"study-{study.pk}", f"run-{run}"))
    assert answer["Location"] in (
        f"{reverse('compare')}?side=study-1{expected}",
        f"{reverse('compare')}?{expected[1:]}",
    )
    many = [f"run-{one.run_id}" for one in factories.measured_study(blocks=2).slots.all()]
    assert len(many) > MAX_SIDES
    assert len(find_sides(many).sides) == MAX_SIDES


def test_more_runs_take_no_more_queries(admin_client: Client) -> None:
    counts = []
    for blocks in (1, 6):
        study = factories.measured_study(blocks=blocks)
        sides = candidates(study)
        for address, query in (
            (reverse("compare"), {"side": sides}),
            (reverse("config-detail", args=[study.candidates.latest("pk").config_id]), {}),
        ):
            with CaptureQueriesContext(connection) as seen:
                assert admin_client.get(address, query).status_code == 200
            counts.append(len(seen))
    assert counts[:2] == counts[2:]
    assert max(counts) <= 25


@pytest.mark.long
def test_each_word_is_explained_in_one_place(admin_client: Client) -> None:
    page = flat(admin_client.get(reverse("help")))
    for one in BY_KEY.values():
        assert f'id="{one.key}"' in page
        assert not one.doc or (Path(settings.BASE_DIR) / "docs" / one.doc).is_file()
    assert len(BY_KEY) > 20
    study = factories.measured_study(blocks=2)
    board = flat(admin_client.get(reverse("study-detail", args=[study.pk])))
    linked = set(re.findall(r'href="/help/#([\w-]+)"', board))
    assert {"throughput", "p95", "path-length", "interval", "tied"} <= linked
    assert linked <= BY_KEY.keys()
    # And it is linked from wherever its numbers are shown.
    run, device = study.slots.earliest("order").run, study.devices.get()
    for name, number, keys in (
        (
            "run-detail",
            [run.pk],
            {"throughput", "p95", "path-length", "cpu-shares", "bytes-written-per-transaction"},
        ),
        ("device-detail", [device.pk], {"throughput", "interval", "durability-class"}),
        ("device-comparison", [], {"throughput", "p95", "path-length", "cpu-shares", "iops"}),
        ("home", [], {"throughput"}),
        ("gate-list", [], {"gate"}),
    ):
        text = flat(admin_client.get(reverse(name, args=number)))
        assert keys <= set(re.findall(r'href="/help/#([\w-]+)"', text)), name


def test_fewer_bytes_are_not_called_better_where_writes_were_postponed() -> None:
    study = factories.measured_study(blocks=2)
    _, slow, *_, best = candidates(study)
    runs = Run.objects.filter(slot__study=study)
    runs.update(bytes_written_per_transaction=9000.0)
    winner = runs.filter(slot__candidate=study.candidates.latest("position"))
    winner.update(bytes_written_per_transaction=4000.0)

    def better() -> bool | None:
        laid = lay_side_by_side(find_sides([slow, best]).sides)
        figure = factories.sure(laid.figures["bytes_written_per_transaction"][1])
        return figure.better

    assert better() is True
    winner.update(debt_grew=True)
    assert better() is None
