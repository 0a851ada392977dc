"""Who may do what: roles, the one table of rules, and what holds requests against it."""
