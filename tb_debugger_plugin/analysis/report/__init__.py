"""What a report of a run holds, and how it is written."""
