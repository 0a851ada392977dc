"""One study in a file: written here, read on another installation, where it is only looked at."""
