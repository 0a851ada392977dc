"""Decides whether a config may run: `check` tests values and rules, `stages` adds the server's."""
