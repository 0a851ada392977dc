"""Devices made of several others: md arrays, device-mapper volumes, btrfs over many disks.

md: Documentation/admin-guide/md.rst, section "md devices in sysfs"; device mapper: `dm/name` and
`dm/uuid` in Documentation/ABI/testing/sysfs-block-dm.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.storage.backing import (
    Backing,
    Member,
    common_kind,
    common_transport,
    describe,
)
from benchmarks.storage.disk import read_disk
from benchmarks.storage.host import read_text
from benchmarks.storage.kinds import DeviceKind, Transport

# LVM names the hidden parts of a volume after it: vg-lv_rimage_0.
_LVM_RAID_PART = re.compile(r"_r(image|meta)_\d+$")
_LVM_CACHE_PART = re.compile(r"_(corig|cdata|cpool|cvol|wcorig)")


def is_md(directory: Path) -> bool:
    """Whether this is a software RAID of the kernel's own."""
    return (directory / "md").is_dir() or re.match(r"md[\d_]", directory.name) is not None


def md_states(directory: Path) -> dict[str, str]:
    """The members' names in the array ("sda2") and their states, spares and failed ones too."""
    return {
        entry.name.removeprefix("dev-"): read_text(entry / "state")
        for entry in sorted((directory / "md").glob("dev-*"))
    }


def md_array(directory: Path, members: tuple[Member, ...]) -> Backing:
    """A software RAID with the members found below it."""
    array = read_disk(directory)
    level = read_text(directory / "md/level")
    disks = read_text(directory / "md/raid_disks")
    return Backing(
        kind=DeviceKind.RAID,
        block_device=array.name,
        transport=common_transport(members),
        model=describe(level, _working(members)),
        rotational=array.rotational,
        scheduler=array.scheduler,
        write_cache=array.write_cache,
        raid_level=level,
        raid_disks=int(disks) if disks.isdigit() else len(members),
        members=members,
        notes=tuple(_md_notes(directory, array.name)),
        serial=read_text(directory / "md/uuid"),
    )


def dm_layer(directory: Path) -> str:
    """Return type and name of a device-mapper device: "LVM volume vg0-mysql"."""
    uuid = read_text(directory / "dm/uuid")
    name = read_text(directory / "dm/name") or directory.name
    words = {
        "LVM-": "LVM volume",
        "CRYPT-": "dm-crypt",
        "mpath-": "multipath",
        "DMRAID-": "firmware RAID",
    }
    what = next((word for prefix, word in words.items() if uuid.startswith(prefix)), "mapping")
    return f"{what} {name}"


def spread(directory: Path, kinds: set[DeviceKind], members: tuple[Member, ...]) -> Backing:
    """A volume on several devices that md does not join: LVM over many, bcache, firmware RAID.

    `kinds` are those of the devices it lies on, which may be arrays; `members` all their disks.
    """
    volume = read_disk(directory)
    parts = {read_text(part / "dm/name") for part in (directory / "slaves").glob("*")}
    what, level = "volume", ""
    kind = next(iter(kinds)) if len(kinds) == 1 else DeviceKind.OTHER
    note = (
        f"{volume.name} is on {len(members)} disks; /sys does not show whether it is striped "
        "over them or fills one after the other (`lvs -o +segtype,stripes` does)."
    )
    uuid = read_text(directory / "dm/uuid")
    if any(_LVM_RAID_PART.search(part) for part in parts) or uuid.startswith("DMRAID-"):
        kind, what, level = DeviceKind.RAID, "RAID", "unknown"
        note = f"{volume.name} is a RAID; /sys does not show its level (`lvs -o +segtype` does)."
    elif volume.name.startswith("bcache") or any(_LVM_CACHE_PART.search(p) for p in parts):
        kind, what = DeviceKind.OTHER, "cache"
        note = f"{volume.name} is a slow disk behind a fast one as its cache."
    return Backing(
        kind=kind,
        block_device=volume.name,
        transport=common_transport(members),
        model=describe(what, members),
        rotational=volume.rotational,
        scheduler=volume.scheduler,
        write_cache=volume.write_cache,
        raid_level=level,
        raid_disks=len(members) if level else 0,
        members=members,
        notes=(note,),
        serial=uuid,
    )


def btrfs_volume(profile: str, members: tuple[Member, ...]) -> Backing:
    """A btrfs file system on several disks; `profile` is how it stores data ("raid1", "single").

    There is no one device whose counters have its traffic.
    """
    striped = profile.startswith(("raid", "dup"))
    return Backing(
        kind=DeviceKind.RAID if striped else common_kind(members),
        transport=common_transport(members) if members else Transport.UNKNOWN,
        model=describe(f"btrfs {profile}".strip(), members),
        raid_level=profile if striped else "",
        raid_disks=len(members) if striped else 0,
        members=members,
        notes=(
            f"btrfs spreads its data over {len(members)} disks ({profile or 'profile unknown'}); "
            "no single device counts its traffic.",
        ),
    )


def _working(members: tuple[Member, ...]) -> tuple[Member, ...]:
    """Without spares and failed members; states read "in_sync,write_mostly"."""
    working = tuple(m for m in members if "in_sync" in m.state.split(","))
    return working or members


def _md_notes(directory: Path, name: str) -> list[str]:
    notes = []
    missing = read_text(directory / "md/degraded")
    if missing not in ("", "0"):
        notes.append(f"{name} is degraded: {missing} of its disks missing or failed.")
    action = read_text(directory / "md/sync_action")
    if action not in ("", "idle", "frozen"):
        notes.append(f"{name} is busy with {action}: figures taken now are too low.")
    return notes
