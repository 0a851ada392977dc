"""Presets of 2016 keep their meaning on today's servers, and nothing is dropped in silence."""

from __future__ import annotations

import pytest

from benchmarks.servers.binary import Flavour
from tuning.catalogue.knob import Durability
from tuning.catalogue.target import ANY_VERSION, ServerTraits, parse_version
from tuning.configs.config_check.check import check_knobs
from tuning.configs.effective.durability import durability_of
from tuning.configs.notes import Action
from tuning.configs.presets.loader import load_preset, preset_names
from tuning.configs.translation.translate import Translation, translate_knobs

SERVERS = [
    "mysql 5.7.42",
    "mysql 8.0.19",
    "mysql 8.0.46",
    "mysql 8.4.13",
    "mysql 9.0.1",
    "mysql 9.7.4",
    "percona 5.7.44",
    "percona 8.0.36",
    "percona 8.4.5",
    "mariadb 10.6.7",
    "mariadb 10.11.19",
    "mariadb 11.4.5",
    "mariadb 11.8.9",
]


def traits(server: str) -> ServerTraits:
    flavour, version = server.split()
    return ServerTraits(Flavour(flavour), parse_version(version))


def translated(preset: str, server: str, durability: Durability = Durability.D0) -> Translation:
    published = load_preset(preset)
    origin = published.written_for or ANY_VERSION
    return translate_knobs(published.knobs, origin, traits(server), durability=durability)


def actions(translation: Translation) -> dict[str, Action]:
    return {note.name: note.action for note in translation.notes}


def detail(translation: Translation, name: str) -> str:
    [text] = [note.detail for note in translation.notes if note.name == name]
    return text


@pytest.mark.parametrize("server", SERVERS)
def test_every_knob_is_kept_or_has_a_note_and_passes_the_gate(server: str) -> None:
    for preset in preset_names():
        translation = translated(preset, server)
        noted = [note.name for note in translation.notes]
        assert len(noted) == len(set(noted)), preset
        for name in load_preset(preset).knobs:
            assert name in translation.knobs or name in noted, (preset, name)
        checked = check_knobs(translation.knobs, traits(server), source=preset).accepted()
        assert checked.knobs == translation.knobs, preset
        assert durability_of(checked.knobs) is Durability.D0, preset


@pytest.mark.parametrize("server", SERVERS)
def test_no_path_is_carried_over(server: str) -> None:
    for preset in preset_names():
        translation = translated(preset, server)
        assert not [value for value in translation.knobs.values() if "<" in value or "/" in value]
        if preset.startswith("whitepaper"):
            for name in (
                "datadir",
                "tmpdir",
                "innodb_log_group_home_dir",
                "innodb_undo_directory",
            ):
                assert detail(translation, name) == "the advisor sets the location of files"


@pytest.mark.parametrize("server", SERVERS)
def test_an_empty_flush_method_is_written_out_as_what_it_meant(server: str) -> None:
    translation = translated("whitepaper-1", server)
    assert translation.knobs["innodb_flush_method"] == "fsync"
    assert actions(translation)["innodb_flush_method"] is Action.ADJUSTED
    assert translated("whitepaper-2", server).knobs["innodb_flush_method"] == "O_DIRECT"


@pytest.mark.parametrize("server", SERVERS)
def test_checksums_are_held_at_the_default_in_a_d0_study(server: str) -> None:
    translation = translated("whitepaper-1", server)
    assert "innodb_checksum_algorithm" not in translation.knobs
    assert actions(translation)["innodb_checksum_algorithm"] is Action.HELD
    default = "full_crc32" if server.startswith("mariadb") else "crc32"
    assert f"at the server's default ({default}): NONE may lose" in detail(
        translation, "innodb_checksum_algorithm"
    )


def test_a_d2_study_gets_the_published_checksums_where_the_server_has_them() -> None:
    kept = translated("whitepaper-1", "mysql 8.4.13", Durability.D2)
    assert kept.knobs["innodb_checksum_algorithm"] == "none"
    held = translated("whitepaper-1", "mariadb 10.11.19", Durability.D2)
    assert actions(held)["innodb_checksum_algorithm"] is Action.HELD
    assert "must be one of crc32" in detail(held, "innodb_checksum_algorithm")


def test_a_dedicated_server_keeps_its_fsync_on_the_way_to_80() -> None:
    dedicated = {"innodb_dedicated_server": "ON"}
    origin, target = traits("mysql 9.7.4"), traits("mysql 8.0.46")
    safe = translate_knobs(dedicated, origin, target)
    assert safe.knobs == {**dedicated, "innodb_flush_method": "O_DIRECT"}
    assert actions(safe) == {"innodb_flush_method": Action.ADJUSTED}
    assert translate_knobs(dedicated, origin, target, durability=Durability.D2).knobs == dedicated
    assert translate_knobs(dedicated, target, origin).knobs == dedicated
