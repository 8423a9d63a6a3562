"""The shared mathematics of support vector machines."""
