"""Requests about one device: to measure, register, inspect or probe it."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    Field,
    StrictInt,
    ValidationInfo,
    field_validator,
    model_validator,
)

from benchmarks.emulation.profile import (
    MAX_MEMORY_BYTES,
    MIN_MEMORY_BYTES,
    NATIVE,
    shipped_profiles,
    throttles,
)
from benchmarks.storage.kinds import DeviceKind
from tuning.requests.fields import MAX_ID, Cli, HostName, HostPath, Request
from tuning.scale_model.sizes import MB

KIND_OF_EMULATED = "An emulated device has the kind that it emulates: leave this empty."


def _profile(name: str) -> str:
    known = ("", NATIVE, *shipped_profiles())
    if name not in known:
        raise ValueError(f"there is no emulated device {name!r}; there are {', '.join(known[1:])}")
    return name


class DeviceRequest(Request):
    """A device: a registered one by its `id`, or by its properties.

    Without `id` and `path` it is the host's default device.
    """

    id: StrictInt | None = Field(
        None,
        ge=1,
        le=MAX_ID,
        description="Id of a registered device. It allows no other field.",
    )
    host: HostName = Field("", description="Host that it is on. Default: that of the request.")
    path: Annotated[HostPath | None, Cli("device", "DIR")] = Field(
        None,
        title="Directory",
        description="A directory on the device to measure. All data is stored below it.",
    )
    log_dir: Annotated[HostPath | None, Cli("log-dir", "DIR")] = Field(
        None,
        title="Redo log directory",
        description="A directory on another device for the redo logs. If empty, they are stored "
        "with the data.",
    )
    emulate: Annotated[str, AfterValidator(_profile), Cli("emulate", "PROFILE")] = Field(
        "",
        title="Emulate devices",
        description="Emulation profile, which limits mysqld; native measures without limits.",
        json_schema_extra={"enum": ["", NATIVE, *shipped_profiles()]},
    )
    memory_mb: Annotated[StrictInt | None, Cli("memory-limit", "MB")] = Field(
        None,
        ge=-(-MIN_MEMORY_BYTES // MB),
        le=MAX_MEMORY_BYTES // MB,
        title="Memory limit, MB",
        description="Limits mysqld including its page cache, which would otherwise hide the "
        "device (MB of 10^6 bytes). If empty, an emulated device gets enough for the server and "
        "half of the data, and a real device has no limit.",
    )
    kind: Annotated[DeviceKind | None, Cli("device-kind", "KIND")] = Field(
        None,
        title="Device kind",
        description="Set this only if the kind cannot be detected, as for virtual disks.",
    )

    @field_validator("kind")
    @classmethod
    def _kind(cls, kind: DeviceKind | None, info: ValidationInfo) -> DeviceKind | None:
        if kind is not None and throttles(info.data.get("emulate")):
            raise ValueError(KIND_OF_EMULATED)
        return kind

    @model_validator(mode="after")
    def _id_alone(self) -> Self:
        if self.id is not None and self.model_fields_set != {"id"}:
            raise ValueError("an id allows no other field")
        return self

    @property
    def memory_bytes(self) -> int | None:
        """The memory limit in bytes."""
        return None if self.memory_mb is None else self.memory_mb * MB


class InspectionRequest(Request):
    """A request for a host to look at all that it has, or at one server, or at one device.

    An administrator may name any path, which can then be used.
    """

    server: HostPath | None = Field(None, description="Path of a mysqld or mariadbd.")
    path: HostPath | None = Field(None, description="A directory on the device.")
    log_dir: HostPath | None = Field(None, description="A directory for redo logs, with `path`.")

    @model_validator(mode="after")
    def _one_subject(self) -> Self:
        if self.server and (self.path or self.log_dir):
            raise ValueError("a server allows no other field")
        return self
