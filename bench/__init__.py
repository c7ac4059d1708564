"""Benchmarks: each prints ratios against a peer in the same run."""
