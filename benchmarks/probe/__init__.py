"""What a device can do: half a minute of fio on a file of our own, and what follows from it."""
