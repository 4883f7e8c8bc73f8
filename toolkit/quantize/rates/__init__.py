"""How coarse the weights of each layer are for an entropy code: rate against noise."""
