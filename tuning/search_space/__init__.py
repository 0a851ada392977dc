"""Which knobs a search may change on the given server, and within which bounds."""
