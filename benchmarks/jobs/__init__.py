"""What a host's worker does for a row: claimed, kept alive, ended, closed."""
