"""A database backend of Django: SQLite with connections that outlive a request."""
