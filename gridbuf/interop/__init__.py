"""Other libraries: one file each."""
