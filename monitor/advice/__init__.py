"""What `check` does: look at a model's tables, and say what is wrong, slow or costly."""
