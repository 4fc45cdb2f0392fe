"""D-STACK: knees, efficacy, sessions; what its planner, its dispatcher and its benches share.

References
----------
Dhakal, Kulkarni, Ramakrishnan: D-STACK, IEEE Transactions on Cloud Computing 12(4), 2024.
"""
