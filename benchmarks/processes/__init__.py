"""Programs: under which user they run, how they are started, watched and ended."""
