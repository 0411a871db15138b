"""Queries on the tables of a run. Knows no HTTP. ``README.md`` lists its rooms, and what each answers."""
