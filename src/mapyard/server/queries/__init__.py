"""Query languages in processes of their own: what takes too long or too much is killed alone."""
