# Kernel tables of the family, best last.
