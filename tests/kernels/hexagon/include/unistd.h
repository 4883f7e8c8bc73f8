#ifndef CHECK_UNISTD_H
#define CHECK_UNISTD_H

#define _SC_PAGESIZE 30

long sysconf(int name);

#endif
