#include "edgekit/edgekit.h"

const char *ek_status_str(ek_status status)
{
    switch (status) {
    case EK_OK: return "ok";
    case EK_ERR_ARG: return "bad argument";
    case EK_ERR_UNSUPPORTED: return "this build has no such operator, or this CPU no such kernels";
    case EK_ERR_CORRUPT: return "not a valid .edge file";
    case EK_ERR_VERSION: return "another version of the format than this edgekit reads";
    case EK_ERR_MEMORY: return "the memory handed over is too small";
    case EK_ERR_ALIGN: return "memory is not aligned";
    case EK_ERR_INDEX: return "an index computed by the model is out of range";
    case EK_ERR_CHECKSUM: return "the file's bytes changed after it was written";
    case EK_ERR_DEVICE: return "the accelerator failed, or did not answer in time";
    }
    return "unknown status";
}

uint32_t ek_version(void)
{
    return EK_VERSION_MAJOR * 10000 + EK_VERSION_MINOR * 100 + EK_VERSION_PATCH;
}
