"""What a person reads in the terminal: progress, the ranking, where the files are."""
