"""Servers, workloads and devices, as several resources name them."""

from __future__ import annotations

from typing import Annotated, Any

from ninja import Field, Schema
from pydantic import BaseModel, ConfigDict

from benchmarks.models import Device, Workload
from benchmarks.storage.kinds import DeviceKind


class Server(Schema):
    flavour: str
    version: str
    path: str


class WorkloadOut(Schema):
    name: str
    driver: str
    title: str = Field(description="The size of its data in words.")
    warehouses: int = Field(description="0: it is not TPC-C.")
    tables: int = Field(description="0: it is TPC-C.")
    table_size: int = Field(description="Rows of each table.")
    unit: str = Field(description="The unit of its throughput.")
    connections: int
    warmup_s: int
    measure_s: int
    load_host: str = Field(description="The host that runs the driver; empty: the server's.")

    @staticmethod
    def resolve_load_host(row: Workload) -> str:
        return row.load_host.name if row.load_host else ""


class NamedDevice(Schema):
    """The device of a row that has one."""

    device: str = Field(alias="device.data_dir", description="Its data directory.")
    device_id: int
    device_name: str = Field(description="Name as shown on the pages.")
    device_kind: DeviceKind = Field(alias="device.kind")
    emulation: str = Field(alias="device.emulation_label", description="The limits; empty: none.")

    @staticmethod
    def resolve_device_name(row: Any) -> str:
        return str(row.device)


class DeviceReference(Schema):
    """A device by itself."""

    id: int
    kind: DeviceKind
    data_dir: str
    log_dir: str = Field(description="Redo log directory; empty: with the data.")
    name: str = Field(description="Name as shown on the pages.")
    emulation: str = Field(alias="emulation_label", description="The limits; empty: none.")

    @staticmethod
    def resolve_name(device: Device) -> str:
        return str(device)


#: The id of a row in a parameter: what the databases can look for.
Id = Annotated[int, Field(ge=1, le=2**63 - 1)]


class Body(BaseModel):
    """The body of a request; an unknown field is refused, because it is a mistyped one."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
