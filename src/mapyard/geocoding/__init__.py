"""Geocoding: from a text or a position to addresses and places. The way of a query:

1. `geocoder.Geocoder` gets a text. Is it a position (read/coordinates, read/plus_codes)? Then 5.
2. `read/query` cuts it into words and says what each may be: a name, a kind, a country, a number.
3. `search/matching` looks the words up in `search/postings`: candidates, and how each word fits.
4. `order/forward` finds candidates and `order/ranking` weighs them: words, names, importance, house
   numbers (`order/crossings`, `order/autocomplete` and `order/structured` are ways to ask it).
5. `order/reverse` finds what is at a position.
6. `answer/answers` writes the best as features, `answer/batch` those of many rows.

`search/gazetteer` is the opened data of all of them; `build` makes it from the store. `words` are
tables of kinds, countries, states and the spelling of numbers, which building and reading share.
"""
