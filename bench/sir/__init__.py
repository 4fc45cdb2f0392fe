"""SIR+ (SYSTOR'22)."""
