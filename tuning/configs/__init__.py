"""How a config is processed, one package per step.

`files` reads a my.cnf and finds the knob of each line; `translation` translates it to the target
server; `gate` accepts or refuses it, line by line; `presets` are published configs, sized for the
host; `candidates` plans what a study measures. `effective` computes the values that a server uses,
for all of them.
"""
