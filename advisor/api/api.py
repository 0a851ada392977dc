"""The REST API, version 1."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from ninja import NinjaAPI
from ninja.throttling import UserRateThrottle

from advisor.access.api_auth import SessionAuth, TokenAuth
from advisor.api import (
    actions,
    configs,
    devices,
    gates,
    groups,
    hosts,
    lists,
    profiles,
    runs,
    studies,
)
from advisor.api.error_format import handle_errors
from advisor.api.json_format import Renderer, StrictParser
from advisor.api.openapi_document import completed


class Api(NinjaAPI):
    """An API whose operations have the names of their functions, and whose document has examples.

    Both methods are Ninja's own points of extension: https://github.com/vitalik/django-ninja/issues/169.
    """

    def get_openapi_operation_id(self, operation: Any) -> str:
        return str(operation.view_func.__name__)

    def get_openapi_schema(self, **options: Any) -> Any:
        return completed(super().get_openapi_schema(**options))


api = Api(
    title="MySQL OLTP tuning advisor",
    description="Start studies, read rankings, download the recommended my.cnf.",
    version=settings.CODE_VERSION,
    urls_namespace="api",
    openapi_url="openapi.json",
    docs_url="docs/",
    auth=[TokenAuth(), SessionAuth()],
    throttle=UserRateThrottle("1200/m"),
    renderer=Renderer(),
    parser=StrictParser(),
)
handle_errors(api)
RESOURCES = (studies, groups, gates, runs, configs, devices, hosts, lists, profiles, actions)
for resource in RESOURCES:
    api.add_router("", resource.router)
