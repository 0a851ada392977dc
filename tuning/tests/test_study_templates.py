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
from tuning.errors import UnknownTemplate
from tuning.study_templates.loader import HERE, StudyTemplate, load_template, template_names


def test_quick_is_what_the_docs_say() -> None:
    quick = load_template("quick")
    assert (quick.name, quick.warehouses, quick.connections) == ("quick", 10, (8,))
    assert (quick.warmup_s, quick.measure_s, quick.blocks) == (5, 12, 3)
    assert quick.baseline == "server-default"
    assert quick.presets == (
        "server-default",
        "whitepaper-1",
        "whitepaper-2",
        "whitepaper-3",
        "whitepaper-a",
    )


def test_the_noise_floor_is_one_config_under_six_names() -> None:
    template = load_template("noise-floor")
    assert (template.copies_of_baseline, template.races, template.confirms) == (5, False, True)
    target = ServerTraits(Flavour.MYSQL, (9, 7, 4))
    resources = HostResources(memory_bytes=8 << 30, logical_cpus=2, data_bytes=1 << 30)
    planned = plan_candidates(template, [], target, resources=resources)
    assert [plan.name for plan in planned] == [
        "server-default",
        *(f"server-default-{number}" for number in range(2, 7)),
    ]
    assert {plan.is_baseline for plan in planned[1:]} == {False}
    assert len({str(plan.knobs) for plan in planned}) == 1


@pytest.mark.parametrize("name", template_names())
def test_every_template_loads(name: str) -> None:
    assert load_template(name).title


@pytest.mark.parametrize("name", ["quik", "", "../presets/x", "quick.yaml", "QUICK"])
def test_an_unknown_name_is_refused_with_those_there_are(name: str) -> None:
    with pytest.raises(UnknownTemplate, match=r"known are: .*quick") as refused:
        load_template(name)
    assert refused.value.code == "unknown_template"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("blocks: 3", "blocks: 0", "blocks: .* greater than or equal to 1, not 0"),
        ("blocks: 3", "blocks: 2.5", "blocks: Input should be a valid integer, not 2.5"),
        ("blocks: 3", "blocks: 3\nblocks: 4", r"line \d+: the key blocks is given twice"),
        ("blocks: 3\n", "", "blocks: is missing"),
        ("blocks: 3", "blocks: 3\nname: other", "mine already has its name"),
        ("warehouses: 10", "warehouses: 0", "warehouses: Input"),
        ("warehouses: 10", "warehouses: ten", "warehouses: Input"),
        ("warmup_s: 5", "warmup: 5", "warmup_s: is missing; warmup: is unknown"),
        ("warmup_s: 5", "warmup_s: -1", "warmup_s: Input"),
        ("measure_s: 12", "measure_s: 0", "measure_s: Input"),
        ("measure_s: 12", "measure_s: 12 s", "measure_s: Input should be a valid integer"),
        ("baseline: server-default", "baseline: other", "not among the presets"),
        ("baseline: server-default", "baseline: ''", "baseline: String"),
        ("connections: [8]", "connections: [8, 8]", "connections: 8 is given twice"),
        ("connections: [8]", "connections: []", "connections must be numbers or"),
        ("connections: [8]", "connections: [0]", "connections/0: Input"),
        ("connections: [8]", "connections: 8", "connections: Input"),
        ("connections: [8]", "connections: {per_core: []}", "connections must be numbers or"),
        ("connections: [8]", "connections: {per_core: [0]}", "connections_per_core/0: Input"),
        ("connections: [8]", "connections: {per_core: [1, 1]}", "is given twice"),
        ("connections: [8]", "connections: {per_cpu: [1]}", "connections: Input"),
        ("connections: [8]", "connections_per_core: [1]", "write connections: {per_core:"),
        ("title: Quick comparison with", "title: [", r"line \d"),
        ("blocks: 3", "blocks: 3\nraces: 1", "races: Input should be a valid boolean"),
        ("blocks: 3", "blocks: 3\nconfirms: maybe", "confirms: Input"),
        ("blocks: 3", "blocks: 3\ncopies_of_baseline: 21", "copies_of_baseline: .* to 20"),
        ("blocks: 3", "blocks: 3\nneeds_log_device: 'on'", "needs_log_device: Input"),
        ("blocks: 3", "blocks: 3\nclaims: [words]", "claims/0: must be a mapping"),
        ("  - whitepaper-1\n", "  - whitepaper-2\n", "presets: whitepaper-2 is given twice"),
        ("  - whitepaper-1\n", "  - 1\n", "presets/1: Input should be a valid string"),
    ],
)
def test_a_broken_template_is_refused(old: str, new: str, reason: str, tmp_path: Path) -> None:
    text = (HERE / "quick.yaml").read_text()
    assert old in text
    broken = tmp_path / "mine.yaml"
    broken.write_text(text.replace(old, new))
    with pytest.raises(InvalidDataFile, match=rf"^mine\.yaml: .*{reason}"):
        read_data_file(broken, StudyTemplate, is_named=True)


CLAIM = "{says: It is faster., source: Somebody said so, faster: {candidate: a, than: b}}"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("says: It is faster., ", "", "claims/0/says: is missing"),
        ("It is faster.", "Yes.", "claims/0/says: String"),
        ("Somebody said so", "Me", "claims/0/source: String"),
        ("source", "sauce", "claims/0/source: is missing; claims/0/sauce: is unknown"),
        ("faster: {", "quicker: {", "claims/0/quicker: is unknown"),
        (
            "faster: {candidate: a, than: b}",
            "devices: [hdd]",
            "claims/0: must have exactly one of faster",
        ),
        ("faster:", "knee: {candidate: a}, faster:", "claims/0: must have exactly one of faster"),
        ("than: b", "then: b", "claims/0/faster/than: is missing"),
        ("than: b", "than: c", "a claim is about c, which is not a candidate"),
        ("than: b", "than: ''", "claims/0/faster/than: String"),
        ("than: b", "than: b, by: 5", "claims/0/faster/by: .* less than 1, not 5"),
        ("than: b", "than: b, by: 5 %", "claims/0/faster/by: Input should be a valid number"),
        ("than: b", "than: b, by: -0.1", "claims/0/faster/by: .* or equal to 0"),
        ("than: b", "than: b, metric: qps", "claims/0/faster/metric: Input"),
        ("says", "devices: [floppy], says", "claims/0/devices/0: Input"),
        ("says", "devices: [], says", "claims/0/devices: .* at least 1"),
        ("says", "devices: [hdd, hdd], says", "claims/0/devices: hdd is given twice"),
        ("says", "needs_seeks: 1, says", "claims/0/needs_seeks: Input"),
        ("says", "published: +5, says", "claims/0/published: Input"),
        ("faster: {candidate: a, than: b}", "best: {candidate: a, among: []}", "among: .* 1 item"),
        ("faster: {candidate: a, than: b}", "best: {among: [b]}", "best/candidate: is missing"),
        ("faster: {candidate: a, than: b}", "knee: {candidate: a, after: 0.5}", "knee/after: is"),
        ("faster: {candidate: a, than: b}", "knee: {candidate: a, before: 1}", "knee/before: .*1"),
        (
            "faster: {candidate: a, than: b}",
            "no_difference: {candidate: a, than: b}",
            "no_difference/other: is missing; .*/than: is unknown",
        ),
    ],
)
def test_a_broken_claim_is_refused(old: str, new: str, reason: str, tmp_path: Path) -> None:
    study = "title: Mine\nwarehouses: 1\nconnections: [1]\nwarmup_s: 0\nmeasure_s: 1\nblocks: 1\n"
    path = tmp_path / "mine.yaml"
    head = f"{study}baseline: a\npresets: [a, b]\nclaims:\n  - "
    path.write_text(head + CLAIM)
    assert read_data_file(path, StudyTemplate, is_named=True).claims[0].statement.names
    assert old in CLAIM
    path.write_text(head + CLAIM.replace(old, new))
    with pytest.raises(InvalidDataFile, match=rf"^mine\.yaml: .*{reason}"):
        read_data_file(path, StudyTemplate, is_named=True)
