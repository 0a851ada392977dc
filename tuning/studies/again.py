"""The request that asks for the same study once more."""

from __future__ import annotations

from tuning.models import Study
from tuning.requests.study import StudyRequest
from tuning.studies.named_devices import device_specs


def request_again(study: Study) -> StudyRequest:
    """The stored request, with a new seed; an extended study counts with its first blocks.

    Raises DeviceUnusable where another device is in the place of one of its devices now.
    """
    request = StudyRequest.model_validate(study.request | {"seed": None})
    device_specs(request.devices)
    return request
