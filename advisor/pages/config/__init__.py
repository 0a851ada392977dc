"""One config: everywhere it ran."""
