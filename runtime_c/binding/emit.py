"""Write the cffi binding of a header: emit.py HEADER OUT. CMake runs this."""

import re
import sys
from pathlib import Path

from cffi import FFI

header, out = sys.argv[1:]
declared = re.findall(r"/\* \[cdef\] \*/(.*?)/\* \[/cdef\] \*/", Path(header).read_text(), re.S)

ffi = FFI()
ffi.cdef("".join(declared))
ffi.cdef(
    """
    extern "Python" void ek_py_on_op(void *, const ek_session *, uint32_t);
    extern "Python" void ek_py_on_profile(void *, uint32_t, int);
    """
)
ffi.set_source("edgekit.runtime_c._ffi", '#include "edgekit/edgekit.h"')
ffi.emit_c_code(out)
