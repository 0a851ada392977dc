"""Files between two users: what a server or driver may write is never trusted by the worker."""
