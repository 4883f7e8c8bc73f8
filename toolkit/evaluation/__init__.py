"""Who judges a model, and on which samples."""
