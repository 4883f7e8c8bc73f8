"""The runtime on a device, or on its emulator. The only place that starts other processes."""
