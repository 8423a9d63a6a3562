"""Tables, figures and reports of an experiment."""
