"""Decides: knob catalogue, configs, studies, run order, ranking and recommendation."""
