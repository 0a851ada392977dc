"""What the API takes (checked) and answers (documented; built in `advisor.api.documents`)."""
