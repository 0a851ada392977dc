"""Whether a config may run: `check` asks values and rules, `stages` adds what the server says."""
