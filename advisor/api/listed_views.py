"""The REST API, version 1: servers, configs, recommendations, published figures, the version."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from advisor.api.listing import PAGES, Pages, named_host, without_bulk
from advisor.api.queries import RecommendationListQuery, listed_recommendations
from advisor.api.serializers.common import error_response
from advisor.api.serializers.listed import (
    ListedRecommendationSerializer,
    RecommendationPageSerializer,
)
from advisor.api.serializers.shown import all_shown
from benchmarks.models import Workload
from tuning.models import Recommendation

MAX_USES = 100
API_VERSION = 1


class RecommendationListView(APIView):
    @extend_schema(
        operation_id="list_recommendations",
        summary="List the recommendations of all studies, newest first",
        parameters=[*PAGES, RecommendationListQuery],
        responses={200: RecommendationPageSerializer, 400: error_response("`invalid_request`.")},
    )
    def get(self, request: Request) -> Response:
        rows = Recommendation.objects.select_related(
            "study__server", "device__host", "workload", "candidate", "whole"
        )
        if (host := named_host(request)) is not None:
            rows = rows.filter(device__host=host)
        found = listed_recommendations(rows, RecommendationListQuery.asked(request))
        found = found.defer(*without_bulk("device__host", "candidate", "whole"))
        pages = Pages()
        page = pages.rows(found, request)
        Workload.objects.fetch_load_hosts(one.workload for one in page)
        return pages.answer(all_shown(ListedRecommendationSerializer, page))
