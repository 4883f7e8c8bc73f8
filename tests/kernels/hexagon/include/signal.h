#ifndef CHECK_SIGNAL_H
#define CHECK_SIGNAL_H

#define SIGILL  4
#define SIGSEGV 11

void (*signal(int number, void (*handler)(int)))(int);

#endif
