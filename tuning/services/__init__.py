"""What connects the plain core to the database: creating, advancing and reading studies."""
