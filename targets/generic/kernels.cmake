# No kernel tables: the portable code runs.
