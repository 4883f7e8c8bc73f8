"""The .edge file: written and read here, and only here with the flatbuffers package."""
