/* Bodies that share a header each have its functions under names of their own: EK_OWN(run) is add_s8_run in a file that
 * defines EK_BODY as add_s8, before the header. */
#ifndef EK_OWN_H
#define EK_OWN_H

#define EK_OWN__(body, name) body##_##name
#define EK_OWN_(body, name)  EK_OWN__(body, name)
#define EK_OWN(name)         EK_OWN_(EK_BODY, name)

#endif
