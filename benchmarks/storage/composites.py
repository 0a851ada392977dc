"""Devices made of several others: md arrays, device-mapper volumes, btrfs over many disks.

md: Documentation/admin-guide/md.rst, section "md devices in sysfs"; device mapper: `dm/name` and
`dm/uuid` in Documentation/ABI/testing/sysfs-block-dm.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

from benchmarks.host.files import read_text
from benchmarks.storage.disk import device_name, read_disk
from benchmarks.storage.identity import DeviceIdentity, Member
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


def md_array(directory: Path, members: tuple[Member, ...]) -> DeviceIdentity:
    """A software RAID with the members found below it."""
    level = read_text(directory / "md/level")
    disks = read_text(directory / "md/raid_disks")
    array = read_disk(directory)
    return replace(
        array,
        kind=DeviceKind.RAID,
        transport=_common_transport(members),
        model=_describe(level, _working(members)),
        raid_level=level,
        raid_disks=int(disks) if disks.isdigit() else len(members),
        members=members,
        notes=tuple(_md_notes(directory, array.block_device or "")),
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


def spread(directory: Path, kinds: set[DeviceKind], members: tuple[Member, ...]) -> DeviceIdentity:
    """A volume on several devices that md does not join: LVM over many, bcache, firmware RAID.

    `kinds` are those of the devices it lies on, which may be arrays; `members` all their disks.
    """
    volume = read_disk(directory)
    name = device_name(directory)
    parts = {read_text(part / "dm/name") for part in (directory / "slaves").glob("*")}
    what, level = "volume", ""
    kind = next(iter(kinds)) if len(kinds) == 1 else DeviceKind.OTHER
    note = (
        f"{name} is on {len(members)} disks; /sys does not show whether it is striped "
        "over them or fills one after the other (`lvs -o +segtype,stripes` does)."
    )
    uuid = read_text(directory / "dm/uuid")
    if any(_LVM_RAID_PART.search(part) for part in parts) or uuid.startswith("DMRAID-"):
        kind, what, level = DeviceKind.RAID, "RAID", "unknown"
        note = f"{name} is a RAID; /sys does not show its level (`lvs -o +segtype` does)."
    elif name.startswith("bcache") or any(_LVM_CACHE_PART.search(p) for p in parts):
        kind, what = DeviceKind.OTHER, "cache"
        note = f"{name} is a slow disk behind a fast one as its cache."
    return replace(
        volume,
        kind=kind,
        transport=_common_transport(members),
        model=_describe(what, members),
        raid_level=level,
        raid_disks=len(members) if level else 0,
        members=members,
        notes=(note,),
        serial=uuid,
    )


def btrfs_volume(profile: str, members: tuple[Member, ...]) -> DeviceIdentity:
    """A btrfs file system on several disks; `profile` is how it stores data ("raid1", "single").

    There is no one device whose counters have its traffic.
    """
    striped = profile.startswith(("raid", "dup"))
    return DeviceIdentity(
        kind=DeviceKind.RAID if striped else _common_kind(members),
        transport=_common_transport(members),
        model=_describe(f"btrfs {profile}".strip(), members),
        raid_level=profile if striped else "",
        raid_disks=len(members) if striped else 0,
        members=members,
        notes=(
            f"btrfs spreads its data over {len(members)} disks ({profile or 'profile unknown'}); "
            "no single device counts its traffic.",
        ),
    )


def _common_kind(members: tuple[Member, ...]) -> DeviceKind:
    kinds = {member.kind for member in members}
    return kinds.pop() if len(kinds) == 1 else DeviceKind.OTHER


def _common_transport(members: tuple[Member, ...]) -> Transport:
    transports = {member.transport for member in members}
    return transports.pop() if len(transports) == 1 else Transport.UNKNOWN


def _describe(what: str, members: tuple[Member, ...]) -> str:
    """Return a model name for several disks: "raid1 of 2 x SAMSUNG PM1725"."""
    counts = Counter(member.model or member.disk or member.name for member in members)
    disks = " + ".join(f"{count} x {model}" for model, count in counts.items())
    return f"{what} of {disks}" if members else what


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
