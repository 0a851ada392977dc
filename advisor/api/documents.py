"""Documents of the API that commands write with `--json`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from advisor.api.schemas.configs import CheckedConfig
from advisor.api.schemas.hosts import Host
from advisor.api.schemas.studies import StudyRow
from tuning.creation.config_check import CheckedText
from tuning.hosts.known import KnownHost
from tuning.models import Study
from tuning.stored_documents import document_of


def study_document(study: Study) -> dict[str, Any]:
    """The result document of a study."""
    return document_of(study).model_dump(mode="json")


def hosts_document(known: Iterable[KnownHost]) -> list[Any]:
    """All hosts as in the API's list of them."""
    return [Host.from_orm(one).model_dump(mode="json") for one in known]


def studies_document(studies: Iterable[Study]) -> list[Any]:
    """The studies as in the API's list of them."""
    return [StudyRow.from_orm(study).model_dump(mode="json") for study in studies]


def check_document(checked: CheckedText) -> dict[str, Any]:
    """A checked my.cnf as in the API."""
    return CheckedConfig.from_orm(checked).model_dump(mode="json")
