"""The FPGA accelerator of targets/fpga_opencl: configuration, partition, estimate."""

from .config import Config
from .partition import Placed, on_accelerator, partition
from .shape import Layer, layer_of

__all__ = ["Config", "Layer", "Placed", "layer_of", "on_accelerator", "partition"]
