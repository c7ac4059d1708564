"""Fuzzing of the readers of what strangers send."""
