"""Where the records of a recording go."""
