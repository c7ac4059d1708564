"""Replication: fetch, apply, rebuild, switch."""
