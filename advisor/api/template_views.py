"""The REST API, version 1: study templates."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from advisor.api.serializers.templates import TemplateSerializer
from advisor.api.views import UNAUTHORISED
from tuning.study_templates.loader import load_template, template_names


class TemplateListView(APIView):
    @extend_schema(
        operation_id="list_templates",
        summary="List the study templates with their sizes and the claims of their sources",
        responses={200: TemplateSerializer(many=True), 401: UNAUTHORISED},
    )
    def get(self, request: Request) -> Response:
        templates = [load_template(name) for name in template_names()]
        return Response(TemplateSerializer(templates, many=True).data)
