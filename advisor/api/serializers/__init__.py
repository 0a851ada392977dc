"""Requests and responses of the API: the same classes make the JSON and the schema."""
