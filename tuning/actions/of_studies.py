"""Actions of studies, of groups of studies, of gates, and of profiles of real servers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pydantic import Field

from tuning.actions.action import GATE, GROUP, PROFILE, STUDY, Action, Fields, ReasonFields
from tuning.errors import TuningError
from tuning.models import ACTIVE_STUDY_STATES, Study, StudyGroup, StudyState
from tuning.requests.study import MAX_BLOCKS
from tuning.strategy.ablation.ablate import MAX_ABLATION_RUNS
from tuning.strategy.search.search import CONCLUDING_BLOCKS
from tuning.studies.commands import (
    archive_study,
    cancel_study,
    check_can_archive,
    check_can_cancel,
    check_can_conclude,
    check_can_extend,
    check_can_pause,
    check_can_restore,
    check_can_resume,
    check_can_start_ablation,
    conclude_study,
    describe_study,
    extend_study,
    pause_study,
    restore_study,
    resume_study,
    start_ablation,
)
from tuning.studies.server_profiles import check_can_delete_profile, delete_profile


class BlocksFields(Fields):
    blocks: int = Field(
        ge=1, le=MAX_BLOCKS, title="Blocks", description="how many more to measure"
    )


class NameFields(Fields):
    name: str = Field(
        min_length=1,
        max_length=200,
        title="Name",
        description="the new name",
        json_schema_extra={"column": "name"},
    )


class TagsFields(Fields):
    tags: str = Field(
        "",
        max_length=200,
        title="Tags",
        description="words, with spaces or commas between; empty: none",
        json_schema_extra={"column": "tags"},
    )

    @property
    def as_words(self) -> str:
        return " ".join(self.tags.replace(",", " ").split())


def _may_go_on(study: Study) -> bool:
    return study.state == StudyState.FINISHED and not study.host.is_retired


PAUSE = Action(
    STUDY,
    "pause",
    "operator",
    label="Pause study",
    help="Start no further run after the current one, until the study is resumed.",
    done="is paused: the current run is finished first",
    check=check_can_pause,
    run=lambda study, actor, fields: pause_study(study, by=actor.name, reason=fields.reason),
    fields=ReasonFields,
    is_own=True,
)
RESUME = Action(
    STUDY,
    "resume",
    "operator",
    label="Resume study",
    help="Continue a paused study, after the study that is running now.",
    done="continues as soon as its host is free",
    check=check_can_resume,
    run=lambda study, actor, _: resume_study(study, by=actor.name),
    is_own=True,
    tone="primary",
)
CONCLUDE = Action(
    STUDY,
    "conclude",
    "operator",
    label="Conclude now",
    help="Try no new config. In a search the best few race for at most "
    f"{CONCLUDING_BLOCKS} blocks; any other study starts no new block. Then the best config is "
    "confirmed, and the study ends with an answer.",
    done="is being concluded: it confirms its best config, then it ends",
    check=check_can_conclude,
    run=lambda study, actor, _: conclude_study(study, by=actor.name),
    is_own=True,
    asks=True,
)
CANCEL = Action(
    STUDY,
    "cancel",
    "operator",
    label="Cancel study",
    help="Stop within seconds. Finished runs are kept; the remaining runs are not measured.",
    done="is being cancelled: the current run stops within seconds, results are kept",
    check=check_can_cancel,
    run=lambda study, actor, _: cancel_study(study, by=actor.name),
    is_own=True,
    asks=True,
    tone="danger",
)
EXTEND = Action(
    STUDY,
    "extend",
    "operator",
    label="Measure more blocks",
    help="Measure more blocks of a finished study. Each block runs every remaining config once "
    "and the baseline twice. Existing runs still count. The study is then concluded again, at a "
    "stricter level: testing it repeatedly would otherwise produce false winners.",
    done="is measured further (blocks: {blocks}), and is then concluded again",
    check=check_can_extend,
    offered=lambda study: study.gate is None and _may_go_on(study),
    run=lambda study, actor, fields: extend_study(study, fields.blocks, by=actor.name),
    fields=BlocksFields,
    is_own=True,
    asks=True,
)
ABLATION = Action(
    STUDY,
    "ablation",
    "operator",
    label="Test each line",
    help="Measure the confirmed winner without some of its lines, in at most "
    f"{MAX_ABLATION_RUNS} runs. Lines that contribute nothing measurable are then left out.",
    done="tests each line of its winner and is then concluded again",
    check=check_can_start_ablation,
    offered=lambda study: _may_go_on(study) and study.confirms and study.concluded_at is None,
    run=lambda study, actor, _: start_ablation(study, by=actor.name),
    is_own=True,
    asks=True,
)
RENAME = Action(
    STUDY,
    "rename",
    "operator",
    label="Rename",
    help="Give the study another name.",
    done="is now called {name}",
    check=lambda _: None,
    run=lambda study, _, fields: describe_study(study, name=fields.name),
    fields=NameFields,
    is_own=True,
)
TAG = Action(
    STUDY,
    "tag",
    "operator",
    label="Tag",
    help="Set the words by which the list of studies finds the study.",
    done="has these tags now: {tags}",
    check=lambda _: None,
    run=lambda study, _, fields: describe_study(
        study, tags=" ".join(fields.tags.replace(",", " ").split())
    ),
    fields=TagsFields,
    is_own=True,
)
ARCHIVE = Action(
    STUDY,
    "archive",
    "operator",
    label="Archive",
    help="Take the study off the lists and Home. Its results stay and still count.",
    done="is archived: lists and Home no longer show it",
    check=check_can_archive,
    run=lambda study, _, __: archive_study(study),
    is_own=True,
)
RESTORE = Action(
    STUDY,
    "restore",
    "operator",
    label="Restore",
    help="Put the archived study back on the lists.",
    done="is on the lists again",
    check=check_can_restore,
    run=lambda study, _, __: restore_study(study),
    is_own=True,
)
OF_STUDIES = (PAUSE, RESUME, CONCLUDE, CANCEL, EXTEND, ABLATION, RENAME, TAG, ARCHIVE, RESTORE)

OF_GATES = tuple(
    replace(action, subject=GATE, label=f"{action.name.capitalize()} gate")
    for action in (PAUSE, RESUME, CANCEL)
)


def _of_group(action: Action, **texts: Any) -> Action:
    """Return the action for all studies of a group that have not ended."""
    return replace(
        action,
        subject=GROUP,
        check=lambda group: _for_each(group, action.check),
        run=lambda group, actor, fields: _for_each(
            group, lambda study: action.run(study, actor, fields)
        ),
        **texts,
    )


def _for_each(group: StudyGroup, change: Callable[[Study], None]) -> None:
    """Call `change` for each active study; raise the first TuningError if all of them raise."""
    active = group.studies.filter(state__in=ACTIVE_STUDY_STATES).select_related("host")
    studies = list(active.order_by("pk"))
    if not studies:
        raise TuningError("already_ended", "all its studies have ended")
    refused: list[TuningError] = []
    for study in studies:
        try:
            change(study)
        except TuningError as error:
            refused.append(error)
    if len(refused) == len(studies):
        raise refused[0]


OF_GROUPS = (
    _of_group(
        PAUSE,
        label="Pause all",
        help="Pause the studies on all hosts after their current runs.",
        done="is paused: the current runs are finished first",
    ),
    _of_group(
        RESUME,
        label="Resume all",
        help="Continue the paused studies on all hosts.",
        done="continues: each study as soon as its host is free",
    ),
    _of_group(
        CANCEL,
        label="Cancel all",
        help="Cancel the studies on all hosts. Finished runs are kept; the remaining runs are not "
        "measured.",
        done="is being cancelled: the current runs stop within seconds, results are kept",
    ),
)

OF_PROFILES = (
    Action(
        PROFILE,
        "delete",
        "operator",
        label="Delete profile",
        help="Delete the profile of a real server. Studies that used it stay, but the steps on "
        "that server can no longer be shown.",
        done="is deleted",
        check=check_can_delete_profile,
        run=lambda profile, _, __: delete_profile(profile),
        is_own=True,
        asks=True,
        tone="danger",
    ),
)
