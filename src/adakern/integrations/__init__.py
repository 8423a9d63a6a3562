"""The flagship as a model of other systems; each module imports without its package."""
