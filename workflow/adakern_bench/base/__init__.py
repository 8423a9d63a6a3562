"""What all parts share: paths, locks, and the names that a configuration may use."""
