"""The REST API, version 1: study templates."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from advisor.api.listing import named_host
from advisor.api.serializers.common import error_response
from advisor.api.serializers.shown import all_shown
from advisor.api.serializers.templates import TemplateOnHost, TemplateSerializer
from tuning.studies.hosts import cpus_of
from tuning.study_templates.loader import load_template, template_names


class TemplateListView(APIView):
    @extend_schema(
        operation_id="list_templates",
        summary="List the study templates with their sizes and the claims of their sources",
        parameters=[
            OpenApiParameter("host", str, description="Name of a host: sizes are those on it.")
        ],
        responses={
            200: TemplateSerializer(many=True),
            400: error_response("`invalid_request`: an unknown host."),
        },
    )
    def get(self, request: Request) -> Response:
        host = named_host(request)
        cpus = cpus_of(host.name if host else "")
        templates = [TemplateOnHost(load_template(name), cpus) for name in template_names()]
        return Response(all_shown(TemplateSerializer, templates))
