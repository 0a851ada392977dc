"""What a study's rows say now: boards, ranking, recommendation, findings, data quality."""
