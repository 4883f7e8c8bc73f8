# No kernel tables yet.
