"""Actions of studies, of groups of studies and of gates, which are studies too."""

from __future__ import annotations

from dataclasses import replace

from tuning.actions.action import Action, Actor, Fields
from tuning.actions.fields import BlocksFields, ReasonFields
from tuning.actions.subjects import GATE, GROUP, STUDY
from tuning.models import Study, StudyGroup
from tuning.strategy.apart.take_apart import MAX_APART_RUNS
from tuning.strategy.search.search import CONCLUDING_BLOCKS
from tuning.studies.concluding import check_can_conclude, conclude_study
from tuning.studies.groups import cancel_group, for_each_active, pause_group, resume_group
from tuning.studies.lifecycle import (
    cancel_study,
    check_can_cancel,
    check_can_extend,
    extend_study,
)
from tuning.studies.pausing import check_can_pause, check_can_resume, pause_study, resume_study
from tuning.studies.taking_apart import check_can_take_apart, take_apart_study


def _pause(study: Study, actor: Actor, fields: ReasonFields) -> None:
    pause_study(study, by=actor.name, reason=fields.reason)


def _resume(study: Study, actor: Actor, _: Fields) -> None:
    resume_study(study, by=actor.name)


def _conclude(study: Study, actor: Actor, _: Fields) -> None:
    conclude_study(study, by=actor.name)


def _cancel(study: Study, actor: Actor, _: Fields) -> None:
    cancel_study(study, by=actor.name)


def _extend(study: Study, actor: Actor, fields: BlocksFields) -> None:
    extend_study(study, fields.blocks, by=actor.name)


def _ablate(study: Study, actor: Actor, _: Fields) -> None:
    take_apart_study(study, by=actor.name)


def _pause_group(group: StudyGroup, actor: Actor, fields: ReasonFields) -> None:
    pause_group(group, by=actor.name, reason=fields.reason)


def _resume_group(group: StudyGroup, actor: Actor, _: Fields) -> None:
    resume_group(group, by=actor.name)


def _cancel_group(group: StudyGroup, actor: Actor, _: Fields) -> None:
    cancel_group(group, by=actor.name)


PAUSE = Action(
    STUDY,
    "pause",
    "operator",
    label="Pause study",
    help="Start no further run after the current one, until the study is resumed.",
    done="is paused: the current run is finished first",
    check=check_can_pause,
    run=_pause,
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
    run=_resume,
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
    run=_conclude,
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
    run=_cancel,
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
    run=_extend,
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
    f"{MAX_APART_RUNS} runs. Lines that contribute nothing measurable are then left out.",
    done="tests each line of its winner and is then concluded again",
    check=check_can_take_apart,
    run=_ablate,
    is_own=True,
    asks=True,
)
OF_STUDIES = (PAUSE, RESUME, CONCLUDE, CANCEL, EXTEND, ABLATION)

OF_GATES = tuple(
    replace(action, subject=GATE, label=f"{action.name.capitalize()} gate")
    for action in (PAUSE, RESUME, CANCEL)
)

OF_GROUPS = (
    replace(
        PAUSE,
        subject=GROUP,
        label="Pause all",
        help="Pause the studies on all hosts after their current runs.",
        done="is paused: the current runs are finished first",
        check=lambda group: for_each_active(group, check_can_pause),
        run=_pause_group,
    ),
    replace(
        RESUME,
        subject=GROUP,
        label="Resume all",
        help="Continue the paused studies on all hosts.",
        done="continues: each study as soon as its host is free",
        check=lambda group: for_each_active(group, check_can_resume),
        run=_resume_group,
    ),
    replace(
        CANCEL,
        subject=GROUP,
        label="Cancel all",
        help="Cancel the studies on all hosts. Finished runs are kept; the remaining runs are not "
        "measured.",
        done="is being cancelled: the current runs stop within seconds, results are kept",
        check=lambda group: for_each_active(group, check_can_cancel),
        run=_cancel_group,
    ),
)
