"""Configuration of a run: schema, composition, validation and plan."""
