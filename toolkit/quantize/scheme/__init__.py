"""The type of each operator: groups of nodes, shared scales, tables, and the resulting graph."""
