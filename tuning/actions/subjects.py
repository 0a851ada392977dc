"""The kinds of rows that have actions."""

from __future__ import annotations

from benchmarks.models import Device, Host, Probe
from tuning.actions.action import Subject
from tuning.models import Study, StudyGroup

STUDY = Subject("study", "studies/<int:pk>", Study.objects.select_related("host").all, "Study")
GROUP = Subject("group", "groups/<int:pk>", StudyGroup.objects.all, "Study group")
GATE = Subject("gate", "gates/<int:pk>", Study.objects.exclude(gate=None).all, "Gate")
HOST = Subject("host", "hosts/<int:pk>", Host.objects.all, "Host", key="name")
#: Its row is the host that has the datasets: a dataset is a directory, not a row.
DATASET = Subject("dataset", "hosts/<int:pk>/datasets", Host.objects.all, "Host", key="name")
DEVICE = Subject("device", "devices/<int:pk>", Device.objects.select_related("host").all, "Device")
PROBE = Subject(
    "probe", "probes/<int:pk>", Probe.objects.select_related("device__host").all, "Probe"
)
