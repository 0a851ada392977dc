"""The REST API, version 1: a study in a file, and files from elsewhere."""

from __future__ import annotations

import io
import tempfile
from typing import Any

from django.http import FileResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from advisor.api.conditional import IF_NONE_MATCH, unless_known
from advisor.api.created import created
from advisor.api.documents import study_document
from advisor.api.errors import ASK_AGAIN_S, ApiError
from advisor.api.recommendation_views import AnyAccept
from advisor.api.serializers.common import error_response
from advisor.api.serializers.studies import StudyStateSerializer
from advisor.api.sparing import Sparing
from advisor.api.views import NOT_FOUND, result_of, study_state
from tuning.bundles.read import read_bundle
from tuning.bundles.store import store_bundle
from tuning.bundles.write import write_bundle
from tuning.models import Study
from tuning.results.study_result import StudyResult
from tuning.studies.glance import final_word

ZIP = "application/zip"
#: A larger one is written to disk before it is sent.
IN_MEMORY = 4 * 1024**2


class ZipParser(BaseParser):
    """The body as it is; its size was held against the limit before."""

    media_type = ZIP

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> bytes:
        return bytes(stream.read())


class BundleView(APIView):
    content_negotiation_class = AnyAccept

    @extend_schema(
        operation_id="get_bundle",
        summary="A study that has ended as one file: for another installation, or for the record",
        parameters=[IF_NONE_MATCH],
        responses={
            (200, ZIP): OpenApiTypes.BINARY,
            404: NOT_FOUND,
            409: error_response("`study_running`: try again later."),
        },
    )
    def get(self, request: Request, pk: int) -> HttpResponseBase:
        return unless_known(request, final_word(pk), lambda: _bundle(result_of(pk)))


class BundleListView(APIView):
    parser_classes = [ZipParser]

    @extend_schema(
        operation_id="import_bundle",
        summary="Store the study of a bundle from elsewhere, to be looked at",
        request={ZIP: OpenApiTypes.BINARY},
        responses={
            201: StudyStateSerializer,
            400: error_response(
                "Nothing was stored: `bundle_damaged`, `bundle_too_large`, `bundle_version`, "
                "`bundle_imported_before`."
            ),
            415: error_response("`unsupported_media_type`: no zip."),
        },
    )
    def post(self, request: Request) -> Response:
        data = request.data if isinstance(request.data, bytes) else b""
        bundle = read_bundle(io.BytesIO(data))
        study = store_bundle(bundle, check_study, by=request.user.get_username())
        return created(request, "api-study-detail", study.pk, study_state(study.pk))


def check_study(study: Study) -> None:
    """Read everything that is said of a study; what does not hold together fails."""
    study_document(StudyResult(study))


def _bundle(result: StudyResult) -> FileResponse:
    if not result.study.is_finished:
        said = "The study has not ended yet."
        raise ApiError(409, "study_running", said, retry_after=ASK_AGAIN_S)
    file = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - the answer closes it
    try:
        sparing = Sparing()
        document = study_document(result)
        sparing.rest()
        write_bundle(result.study, document, file, sparing.rest)
    except BaseException:
        file.close()
        raise
    file.seek(0)
    name = f"study-{result.study.pk}.zip"
    return FileResponse(file, as_attachment=True, filename=name, content_type=ZIP)
