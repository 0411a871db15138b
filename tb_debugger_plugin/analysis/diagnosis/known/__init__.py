"""The known ways in which ops make NaN and infinity: a table by subject in each module."""
