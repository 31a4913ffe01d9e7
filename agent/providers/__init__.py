"""Language models over the network, and the offline provider that needs none."""
