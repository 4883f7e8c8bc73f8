# Kernel tables of the family; a build takes those that its target.toml names.
