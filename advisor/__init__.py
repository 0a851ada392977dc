"""Shows: web pages, REST API, charts and commands."""
