"""Code shared by all packages: paths, locks, names that a configuration may use."""
