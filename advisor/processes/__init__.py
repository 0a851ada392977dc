"""The processes of one host: a private Redis, the measuring worker and the web server."""
