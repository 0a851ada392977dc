"""A my.cnf in a form and, checked, line by line: for checks and new studies alike."""
