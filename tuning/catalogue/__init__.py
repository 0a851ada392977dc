"""The knob catalogue: what is known about each server variable, as reviewed data."""
