"""The FPGA accelerator: its backend (backend.py), which the toolkit finds through target.toml."""
