"""A my.cnf in a form, and its check line by line: for checks and new studies."""
