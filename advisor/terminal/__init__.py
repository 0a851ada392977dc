"""Terminal output: progress, ranking, paths of the files."""
