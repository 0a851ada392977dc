"""Storage engines: what the measuring floor must know of each."""
