"""What is sent to a webhook: little, with links to the rest. Described in docs/api.md."""

from __future__ import annotations

import json
from typing import Any

from django.urls import reverse

from advisor.webhooks.models import TEST, Delivery, Event
from advisor.wording.answers import answer_sentence
from advisor.wording.words import names_beside_figures
from tuning.models import Study, StudyState
from tuning.results.gate_facts import gate_facts, gates

#: Of a study with more boards the rest is behind the links.
MAX_ANSWERS = 20
_LINKS = {
    Event.STUDY_ENDED: {
        "page": "study-detail",
        "study": "api-study-detail",
        "ranking": "api-ranking",
        "recommendation": "api-recommendation",
    },
    Event.GATE_ENDED: {
        "page": "gate-detail",
        "gate": "api-gate-detail",
        "junit": "api-gate-junit",
        "summary": "api-gate-markdown",
    },
}


class Superseded(Exception):
    """The study goes on again, or has ended once more: of that there is another message."""


def body_of(delivery: Delivery) -> str:
    """The message as JSON. Raises Superseded."""
    if delivery.event == TEST:
        at, data = delivery.created_at, {"webhook": delivery.webhook_id}
    else:
        study = _study(delivery)
        at, data = study.finished_at or study.created_at, _data(delivery, study)
    document = {"type": delivery.event, "timestamp": at.isoformat(), "data": data}
    return json.dumps(document, ensure_ascii=False)


def _study(delivery: Delivery) -> Study:
    rows = gates() if delivery.event == Event.GATE_ENDED else Study.objects.select_related("host")
    found = rows.filter(deliveries=delivery).first()
    if found is None or not found.is_finished or found.finished_at != delivery.ended_at:
        raise Superseded
    return found


def _data(delivery: Delivery, study: Study) -> dict[str, Any]:
    event, site = Event(delivery.event), delivery.webhook.site.rstrip("/")
    links = {name: site + reverse(view, args=[study.pk]) for name, view in _LINKS[event].items()}
    verdict = _of_gate(study) if event == Event.GATE_ENDED else _of_study(study)
    return {
        "id": study.pk,
        "name": study.name,
        "host": study.host.name,
        "state": study.state,
        "reason_code": study.reason_code,
        **verdict,
        "links": links,
    }


def _of_gate(study: Study) -> dict[str, Any]:
    facts = gate_facts(study)
    return {"verdict": facts.verdict, "sentence": facts.reason}


def _of_study(study: Study) -> dict[str, Any]:
    """The first answer is that of the first device with the fewest connections."""
    if study.state != StudyState.FINISHED:
        return {"verdict": "none", "sentence": _why_none(study), "answers": []}
    rows = study.recommendations.select_related("candidate", "study", "workload", "device")
    found = sorted(rows, key=lambda one: (one.device_id, one.workload.connections, one.durability))
    names = names_beside_figures(study.devices.all())
    answers = [
        {
            "verdict": one.kind,
            "config": one.candidate.name,
            "device": f"{one.device}",
            "connections": one.workload.connections,
            "durability": one.durability,
            "sentence": answer_sentence(one, names.get(one.device_id, "")),
        }
        for one in found[:MAX_ANSWERS]
    ]
    if not answers:
        return {"verdict": "none", "sentence": "It has no answer.", "answers": []}
    return {
        "verdict": answers[0]["verdict"],
        "sentence": answers[0]["sentence"],
        "answers": answers,
    }


def _why_none(study: Study) -> str:
    label = StudyState(study.state).label
    return f"{label}: {study.reason}." if study.reason else f"{label}."
