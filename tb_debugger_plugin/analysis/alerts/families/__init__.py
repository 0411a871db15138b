"""The alert rules, a file for each family."""
