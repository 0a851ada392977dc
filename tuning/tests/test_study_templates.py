"""Study templates are readable files that say what they measure."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.datafiles import read_data_file
from benchmarks.errors import InvalidDataFile
from benchmarks.servers.binary import Flavour
from tuning.catalogue.resources import HostResources
from tuning.catalogue.target import ServerTraits
from tuning.configs.candidates import plan_candidates
from tuning.configs.situation import Situation
from tuning.errors import UnknownTemplate
from tuning.study_templates.loader import HERE, StudyTemplate, load_template


def test_the_noise_floor_is_one_config_under_six_names() -> None:
    template = load_template("noise-floor")
    assert (template.copies_of_baseline, template.races, template.confirms) == (5, False, True)
    target = ServerTraits(Flavour.MYSQL, (9, 7, 4))
    resources = HostResources(memory_bytes=8 << 30, logical_cpus=2, data_bytes=1 << 30)
    planned = plan_candidates(template, [], Situation(target, resources))
    assert [plan.name for plan in planned] == [
        "server-default",
        *(f"server-default-{number}" for number in range(2, 7)),
    ]
    assert {plan.is_baseline for plan in planned[1:]} == {False}
    assert len({str(plan.knobs) for plan in planned}) == 1


@pytest.mark.parametrize("name", ["quik", "", "../presets/x", "quick.yaml", "QUICK"])
def test_an_unknown_name_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(UnknownTemplate, match=r"known are: .*quick") as refused:
        load_template(name)
    assert refused.value.code == "unknown_template"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("connections: [8]", "connections: [8, 8]", "connections: 8 is given twice"),
        ("connections: [8]", "connections: []", "either `connections` or"),
        ("connections: [8]", "connections_per_core: [1, 1]", "is given twice"),
    ],
)
def test_a_broken_template_is_refused(old: str, new: str, reason: str, tmp_path: Path) -> None:
    text = (HERE / "quick.yaml").read_text()
    assert old in text
    broken = tmp_path / "mine.yaml"
    broken.write_text(text.replace(old, new))
    with pytest.raises(InvalidDataFile, match=rf"^mine\.yaml: .*{reason}"):
        read_data_file(broken, StudyTemplate, is_named=True)


CLAIM = "{says: It is faster., source: Somebody said so, ratio: {of: a, to: b, above: 1}}"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("ratio: {of: a, to: b, above: 1}", "devices: [hdd]", "claims/0/ratio: is missing"),
        (", above: 1", "", "claims/0/ratio: must have `above`"),
        ("to: b", "to: c", "a claim is about c, which is not a candidate"),
        ("says", "devices: [hdd, hdd], says", "claims/0/devices: hdd is given twice"),
    ],
)
def test_a_broken_claim_is_refused(old: str, new: str, reason: str, tmp_path: Path) -> None:
    study = "title: Mine\nwarehouses: 1\nconnections: [1]\nwarmup_s: 0\nmeasure_s: 1\nblocks: 1\n"
    path = tmp_path / "mine.yaml"
    head = f"{study}baseline: a\npresets: [a, b]\nclaims:\n  - "
    path.write_text(head + CLAIM)
    assert read_data_file(path, StudyTemplate, is_named=True).claims[0].ratio.names
    assert old in CLAIM
    path.write_text(head + CLAIM.replace(old, new))
    with pytest.raises(InvalidDataFile, match=rf"^mine\.yaml: .*{reason}"):
        read_data_file(path, StudyTemplate, is_named=True)
