"""What all parts share: places, locks, names that a configuration may use."""
