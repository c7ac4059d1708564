"""Accounts, keys, plans, limits, usage."""
