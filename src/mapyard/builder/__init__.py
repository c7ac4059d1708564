"""The build pipeline: steps, progress, preflight, resume."""
