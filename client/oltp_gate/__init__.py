"""The client of a pipeline: starts a gate on an advisor, waits for it and tells how it ended."""
