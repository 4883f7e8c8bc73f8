"""Passes that drop or compute what no later pass needs to see."""
