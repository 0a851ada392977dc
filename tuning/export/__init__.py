"""The recommendation as files: what to set, what was measured, what was not, the rollback."""
