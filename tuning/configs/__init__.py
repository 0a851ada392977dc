"""The way of a config: read, translated, judged line by line, checked, planned as a candidate.

`parse` reads a my.cnf; `judge` finds the fate of each line with `translate`; `check` applies the
`rules` across knobs; `presets` are published configs, sized for the host; `candidates` plans what
a study measures. `expected` and `readback` are the values that a server uses, for all of them.
"""
