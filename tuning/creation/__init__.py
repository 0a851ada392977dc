"""The way of a request: its plan, checked against what its host has, and the rows of it."""
