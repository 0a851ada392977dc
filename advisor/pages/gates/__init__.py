"""Gates: all of them by name, and one with its limits and the history of its name."""
