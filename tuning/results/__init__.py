"""The current result of a study: boards, ranking, recommendation, findings, data quality."""
