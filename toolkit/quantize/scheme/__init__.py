"""What runs in which type: groups of nodes, shared scales, tables, and the graph that follows."""
