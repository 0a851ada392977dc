"""Emulates slower devices on a faster one, by cgroup limits around one server.

What is emulated is the rate of requests and bytes, and the memory left for the page cache. What
is not: the latency of a single request, and how it depends on where the data lies.
"""
