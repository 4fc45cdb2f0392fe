"""What computes: kinds of devices, what this machine has, opening them."""
