#include "edgekit/edgekit.h"

const char *ek_status_str(ek_status status)
{
    switch (status) {
    case EK_OK: return "ok";
    case EK_ERR_ARG: return "invalid argument";
    case EK_ERR_UNSUPPORTED: return "operator or kernels not in this build, or not supported by this CPU";
    case EK_ERR_CORRUPT: return "not a valid .edge file";
    case EK_ERR_VERSION: return "file format version not supported";
    case EK_ERR_MEMORY: return "the buffer is too small";
    case EK_ERR_ALIGN: return "the buffer is not aligned";
    case EK_ERR_INDEX: return "an index computed by the model is out of range";
    case EK_ERR_CHECKSUM: return "checksum mismatch: the file is damaged";
    case EK_ERR_DEVICE: return "the accelerator failed or timed out";
    }
    return "unknown status";
}

uint32_t ek_version(void)
{
    return EK_VERSION_MAJOR * 10000 + EK_VERSION_MINOR * 100 + EK_VERSION_PATCH;
}
