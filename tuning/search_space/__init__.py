"""Which knobs a search may change on the server at hand, and how far."""
