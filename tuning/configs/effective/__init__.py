"""The effective values of a set of knobs: predicted before the start, and read back after it."""
