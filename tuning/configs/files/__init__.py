"""A my.cnf as it comes: read, looked up, told line by line."""
