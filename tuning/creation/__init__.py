"""Creation of studies and gates: from a request to a plan, and from a plan to rows."""
