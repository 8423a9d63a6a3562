"""What is to be run: schema, composition, validation and plan."""
