"""The questions that a new study can begin with, and what each of them fills in."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from tuning.study_templates.loader import YOUR_SERVER, StudyTemplate

YOURS, BEST, MINE, PUBLISHED, DEVICE = "yours", "best", "mine", "published", "device"
CONNECTIONS, SAFE = "connections", "safe"
#: The numbers of connections that a sweep begins with.
SWEEP = "8, 16, 32, 64, 128, 256, 512"


@dataclass(frozen=True)
class Question:
    """`template` is the one that it begins with; "": a gate, which has a page of its own."""

    key: str
    title: str
    text: str
    template: str


QUESTIONS = {
    one.key: one
    for one in (
        Question(
            YOURS,
            "What should I change on my server?",
            "Your server's own config, in proportion to its data and memory, against changes that "
            "its figures call for.",
            YOUR_SERVER,
        ),
        Question(
            BEST,
            "Find the best config",
            "The advisor tries published advice and configs of its own, and confirms the winner.",
            "search",
        ),
        Question(
            MINE,
            "Compare my files",
            "Your own my.cnf files against the server's defaults: which is better, by how much?",
            "compare",
        ),
        Question(
            PUBLISHED,
            "Repeat a published figure",
            "Does what a paper or a blog measured elsewhere hold on this device?",
            "quick",
        ),
        Question(
            DEVICE,
            "How much would a faster device gain?",
            "The same configs on this device, on another one, or on slower ones emulated here.",
            "quick",
        ),
        Question(
            CONNECTIONS,
            "How many connections?",
            "The same configs with 8 to 512 connections: where does throughput stop growing?",
            "connections",
        ),
        Question(
            SAFE,
            "Is this change safe?",
            "A gate: a new my.cnf or server against the one of today, until limits are kept or "
            "broken.",
            "",
        ),
    )
}


@dataclass(frozen=True)
class QuestionLink:
    """A question with the address of the form that begins with it."""

    question: Question
    url: str
    is_chosen: bool


def question_of(asked: QueryDict, template: StudyTemplate | None) -> Question:
    """The one that is named, else the one that the template answers, else the first."""
    if (named := QUESTIONS.get(asked.get("question", ""))) and named.template:
        return named
    if asked.getlist("emulate") and template is not None and not template.searches:
        return QUESTIONS[DEVICE]
    if template is None or template.searches:
        return QUESTIONS[BEST]
    if template.name == YOUR_SERVER:
        return QUESTIONS[YOURS]
    if template.name == QUESTIONS[CONNECTIONS].template:
        return QUESTIONS[CONNECTIONS]
    return QUESTIONS[PUBLISHED if template.repeats else MINE]


def question_links(asked: QueryDict, chosen: Question) -> list[QuestionLink]:
    """All questions; what was chosen of hosts, devices and profiles stays."""
    kept = [(name, one) for name in ("host", "device", "profile") for one in asked.getlist(name)]
    return [QuestionLink(one, _address(one, kept), one is chosen) for one in QUESTIONS.values()]


def _address(question: Question, kept: list[tuple[str, str]]) -> str:
    if not question.template:
        return reverse("gate-new")
    return f"{reverse('study-new')}?{urlencode([('question', question.key), *kept])}"
