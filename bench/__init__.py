"""Measurements: what a decision and what a pod costs, and beside what."""
