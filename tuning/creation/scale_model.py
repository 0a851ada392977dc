"""The configs of a plan in its scale model: files, presets and bounds as the model has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tuning.catalogue.loader import load_catalogue
from tuning.configs.candidates import FileFit, PlannedCandidate
from tuning.configs.expected import Expected
from tuning.configs.line import Action, Note
from tuning.configs.situation import Situation
from tuning.configs.values import BadValue, normalise
from tuning.configs.variables import CHUNK, DIRECT_METHODS, FLUSH_METHOD
from tuning.scale_model.model import ScaleModel, in_model, is_scaled
from tuning.studies.host_resources import real_host_facts


def file_fit(model: ScaleModel | None, situation: Situation) -> FileFit | None:
    """How files that were written for the real server are resized; None without a model."""
    if model is None:
        return None
    return FileFit(
        real_host_facts(situation.host, model),
        lambda knobs: in_model(knobs, model, situation.target, situation.host),
    )


def fitted(
    plan: PlannedCandidate, model: ScaleModel | None, situation: Situation
) -> PlannedCandidate:
    """The candidate with what every config of a scale model sets."""
    if model is None or plan.left_out:
        return plan
    added = {}
    expected = Expected(plan.knobs, situation.target, situation.host)
    for name, value in model.fitted(situation.target).items():
        if name == CHUNK and name in plan.knobs:
            continue
        if name == FLUSH_METHOD and expected.text(name) in DIRECT_METHODS:
            continue
        added[name] = value
    reasons = {
        CHUNK: f"fine steps for the buffer pool of the {model.title}",
        FLUSH_METHOD: "memory could not be limited here, so no config uses the page cache",
    }
    notes = [Note(name, Action.ADJUSTED, reasons[name]) for name in added]
    return replace(plan, knobs={**plan.knobs, **added}, notes=(*plan.notes, *notes))


def pinned_in_model(
    pinned: Mapping[str, str], model: ScaleModel | None, situation: Situation
) -> dict[str, str]:
    """A search's pins as the model has them, with what it holds fixed by itself."""
    if model is None:
        return dict(pinned)
    held = {} if model.limits_memory else {FLUSH_METHOD: "O_DIRECT"}
    return held | {name: _sized(name, text, model, situation) for name, text in pinned.items()}


def bounds_in_model(
    bounds: Mapping[str, tuple[str, str]], model: ScaleModel | None, situation: Situation
) -> dict[str, tuple[str, str]]:
    """A search's bounds as the model has them."""
    if model is None:
        return dict(bounds)
    return {
        name: (_sized(name, low, model, situation), _sized(name, high, model, situation))
        for name, (low, high) in bounds.items()
    }


def _sized(name: str, text: str, model: ScaleModel, situation: Situation) -> str:
    """The value in the model; what is no value of the knob stays, to be refused as it is."""
    knob = load_catalogue().get(name)
    if knob is None or not is_scaled(name) or not knob.exists_in(situation.target):
        return text
    try:
        value = normalise(knob, text, situation.target)
    except BadValue:
        return text
    return in_model({name: value}, model, situation.target, situation.host)[0][name]
