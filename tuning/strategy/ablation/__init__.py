"""Ablation of a confirmed winner: which of its lines matter."""
