edgekit_backend(HEADER host/opencl.h SOURCES host/accelerated.c host/cl.c host/device.c host/layer.c host/loops.c host/pack.c)
