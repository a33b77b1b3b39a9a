"""Where bytes lie: local disks and object stores, behind the same few functions."""
