"""Words that building and reading share: kinds, countries, states, house numbers."""
