"""What the rules of the workflow do, one module per rule."""
