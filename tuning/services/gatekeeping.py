"""The last stages of the gate: every candidate is tried on the server before a study's first run.

A candidate that the server does not take, or does not take as it was asked for, is known within
seconds and costs no run; two that end up with the same effective values are measured once.
"""
