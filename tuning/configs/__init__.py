"""The way of a config, one room per step.

`files` reads a my.cnf and finds the knob that each line means; `translation` says what becomes of
it on the server at hand; `gate` accepts or refuses it, line by line; `presets` are published
configs, sized to the host; `candidates` plans what a study measures. `effective` knows what a
server makes of knobs, for all of them.
"""
