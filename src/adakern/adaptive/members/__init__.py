"""Members of the blend: what is fitted to a table, and when."""
