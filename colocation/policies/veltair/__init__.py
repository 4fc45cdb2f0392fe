"""VELTAIR: how many cores each layer needs, and blocks of layers that are given cores together.

References
----------
Liu, Leng, Zhang, Chen, Li, Guo: VELTAIR, ASPLOS 2022.
"""
