"""Fitted models that answer for one config in microseconds: a replay asks a million times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Predicts = Callable[[Floats], Floats]


def fast(model: Any) -> Predicts:
    """The same answers; trees are walked all at once."""
    from sklearn.ensemble import ExtraTreesRegressor, GradientBoostingRegressor
    from sklearn.pipeline import Pipeline

    if isinstance(model, GradientBoostingRegressor):
        trees = [one.tree_ for one in model.estimators_[:, 0]]
        first = float(model.init_.constant_[0, 0])
        return _Trees(trees, first, model.learning_rate)
    if isinstance(model, ExtraTreesRegressor):
        trees = [one.tree_ for one in model.estimators_]
        return _Trees(trees, 0.0, 1 / len(trees))
    if isinstance(model, Pipeline):
        return _Nets(model[0], model[1].estimators_)
    raise TypeError(f"no fast form of {type(model).__name__}")


class _Nets:
    """The mean of networks with one hidden layer."""

    def __init__(self, scaler: Any, nets: list[Any]) -> None:
        self._mean, self._scale = scaler.mean_, scaler.scale_
        self._into = np.concatenate([net.coefs_[0] for net in nets], axis=1)
        self._bend = np.concatenate([net.intercepts_[0] for net in nets])
        self._out = np.concatenate([net.coefs_[1][:, 0] for net in nets]) / len(nets)
        self._level = float(np.mean([net.intercepts_[1][0] for net in nets]))

    def __call__(self, x: Floats) -> Floats:
        hidden = np.tanh((x - self._mean) / self._scale @ self._into + self._bend)
        return np.asarray(hidden @ self._out + self._level)


class _Trees:
    """`first` plus `factor` times the sum of the leaves that a config falls into."""

    def __init__(self, trees: list[Any], first: float, factor: float) -> None:
        starts = np.cumsum([0, *(tree.node_count for tree in trees)])
        self._roots = starts[:-1]
        self._first, self._factor = first, factor
        self._feature = np.concatenate([tree.feature for tree in trees])
        self._threshold = np.concatenate([tree.threshold for tree in trees])
        self._value = np.concatenate([tree.value[:, 0, 0] for tree in trees])
        self._is_leaf = self._feature < 0
        own = np.arange(starts[-1])
        shift = np.repeat(self._roots, np.diff(starts))
        left = np.concatenate([tree.children_left for tree in trees]) + shift
        right = np.concatenate([tree.children_right for tree in trees]) + shift
        # A leaf leads to itself, so that all trees take as many steps as the deepest.
        self._left = np.where(self._is_leaf, own, left)
        self._right = np.where(self._is_leaf, own, right)
        self._depth = max(tree.max_depth for tree in trees)

    def __call__(self, x: Floats) -> Floats:
        seen = x.astype(np.float32)
        rows = np.arange(len(x))[:, None]
        node = np.repeat(self._roots[None], len(x), axis=0)
        for _ in range(self._depth):
            goes_left = seen[rows, self._feature[node]] <= self._threshold[node]
            node = np.where(goes_left, self._left[node], self._right[node])
        return np.asarray(self._first + self._factor * self._value[node].sum(axis=1))
