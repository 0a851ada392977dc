"""What connects the plain core to the database: claiming, executing and closing runs."""
