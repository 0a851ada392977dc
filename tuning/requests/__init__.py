"""Requests: what may be asked for, and the way from a request to rows."""
