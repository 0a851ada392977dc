"""Which device stores a path: from its mount down through every layer to the disks."""
