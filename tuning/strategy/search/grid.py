"""The space as arrays: points are indexes of the values of each dimension."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from tuning.strategy.search.space import Rule, Space

Floats = NDArray[np.float64]
Points = NDArray[np.int64]


class Grid:
    """Points, (count, dimensions) indexes into `Dimension.levels`, and what a model sees of them.

    beside: how many more features the model has that are 0 everywhere in the space.
    """

    def __init__(self, space: Space, beside: int = 0) -> None:
        self.space = space
        self._beside = beside
        self.levels = tuple(one.levels for one in space.dimensions)
        self.sizes = np.array([len(levels) for levels in self.levels])
        self._tables = [
            np.array([one.features(value) for value in levels])
            for one, levels in zip(space.dimensions, self.levels, strict=True)
        ]
        #: (features,): the dimension that each feature belongs to.
        self.owner = np.repeat(
            np.arange(len(self.sizes)), [table.shape[1] for table in self._tables]
        )

    def features(self, points: Points) -> Floats:
        """(count, features) of points."""
        parts = [table[points[:, axis]] for axis, table in enumerate(self._tables)]
        return np.concatenate([*parts, np.zeros((len(points), self._beside))], axis=1)

    def features_of(self, configs: Iterable[Mapping[str, str]]) -> Floats:
        """(count, features) of configs, which may lie outside the space; none of those beside."""
        seen = [
            [
                part
                for one, value in zip(
                    self.space.dimensions, self.space.values(config), strict=True
                )
                for part in one.features(value)
            ]
            for config in configs
        ]
        return np.array(seen).reshape(len(seen), len(self.owner))

    def nearest(self, config: Mapping[str, str]) -> Points:
        """(dimensions,): the point nearest to a config."""
        found = []
        values = self.space.values(config)
        for table, levels, one, value in zip(
            self._tables, self.levels, self.space.dimensions, values, strict=True
        ):
            if value in levels:
                found.append(levels.index(value))
            else:
                gaps = ((table - np.array(one.features(value))) ** 2).sum(axis=1)
                found.append(int(gaps.argmin()))
        return np.array(found)

    def knobs(self, point: Points) -> dict[str, str]:
        """The config at a point."""
        values = {
            one.name: levels[int(index)]
            for one, levels, index in zip(self.space.dimensions, self.levels, point, strict=True)
        }
        return self.space.knobs(values)

    def spread(self, count: int, random: np.random.Generator) -> Points:
        """(count, dimensions) points in a Latin hypercube: each value about equally often."""
        cells = np.stack([random.permutation(count) for _ in self.sizes], axis=1)
        shares = (cells + random.random(cells.shape)) / max(count, 1)
        return self.kept((shares * self.sizes).astype(np.int64))

    def kept(self, points: Points) -> Points:
        """The points moved so that they keep the space's rules."""
        points = points.copy()
        for rule in self.space.rules:
            self._keep(rule, points)
        return points

    def _keep(self, rule: Rule, points: Points) -> None:
        names = self.space.names
        if rule.lower not in names or rule.upper not in names:
            return
        lower, upper = names.index(rule.lower), names.index(rule.upper)
        low = np.array([float(value) for value in self.levels[lower]])
        high = np.array([float(value) for value in self.levels[upper]])
        if rule.moves == "upper":
            enough = high[None] >= low[:, None]  # for each lower value, which upper ones do
            nearest = np.where(enough, high[None], np.inf).argmin(axis=1)
            broken = low[points[:, lower]] > high[points[:, upper]]
            points[broken, upper] = nearest[points[broken, lower]]
        enough = low[None] <= high[:, None]
        nearest = np.where(enough, low[None], -np.inf).argmax(axis=1)
        broken = low[points[:, lower]] > high[points[:, upper]]
        points[broken, lower] = nearest[points[broken, upper]]
