"""The algebra of a query, and rewrites that keep its meaning."""
