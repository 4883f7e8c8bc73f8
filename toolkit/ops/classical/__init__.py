"""Classical machine learning: trees, support vectors, distances, encoders."""
