"""``make gpu-check``: all that only a GPU can show, by one command, within minutes.

``python -m bench.gpu_check`` measures on ``cuda:0`` and every core; with ``--devices
cpu:1,emulated:gpu:4`` the same is rehearsed without a GPU, and everything that it prints and writes
says EMULATED. A unit of work is one model of one part, in a process of its own with a time limit;
its figures are stored at once, so that a stop loses one unit and the next start goes on.
"""
