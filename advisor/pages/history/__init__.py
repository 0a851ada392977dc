"""A baseline over months on one device: is the host getting slower?"""
