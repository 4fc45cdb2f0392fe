"""The kinds of devices, a file each; ``registry.py`` lists them."""
