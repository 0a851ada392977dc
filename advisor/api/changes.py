"""Changes of the state of a row, by POST; the answer is the row afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from advisor.api.serializers.common import error_response
from tuning.requests.fields import Request as BodyRequest
from tuning.requests.fields import read_request


@dataclass(frozen=True)
class Changes:
    """Makes the views that change `rows`; `state` is what `kind` shows of one of them. `about` is
    the description of all of them in the API's document.
    """

    about: str
    rows: Callable[[], QuerySet[Any]]
    state: Callable[[int], dict[str, Any]]
    kind: type[serializers.Serializer[Any]]
    missing: OpenApiResponse

    def view(
        self,
        change: Callable[..., None],
        operation: str,
        summary: str,
        codes: str,
        body: type[BodyRequest] | None = None,
        *,
        says_who: bool = True,
    ) -> type[APIView]:
        """`change` gets the row, the fields of the body and `by`, the user's name; `codes` are
        those of a refusal.
        """
        whole = self

        class ChangeView(APIView):
            act = staticmethod(change)

            @extend_schema(
                operation_id=operation,
                summary=summary,
                description=self.about,
                request=body,
                responses={200: self.kind, 400: error_response(codes), 404: self.missing},
            )
            def post(self, request: Request, pk: int) -> Response:
                row = get_object_or_404(whole.rows(), pk=pk)
                values = {} if body is None else dict(read_request(body, request.data))
                if says_who:
                    values["by"] = request.user.get_username()
                self.act(row, **values)
                return Response(whole.state(pk))

        return ChangeView
