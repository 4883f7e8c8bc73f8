"""What the values of a tensor decide: places, boxes, the first of an order."""
