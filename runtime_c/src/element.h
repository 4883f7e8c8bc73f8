/* Bodies that are built once for each element type: EK_ELEMENT is s8, s16 or f32. */
#ifndef EK_ELEMENT_H
#define EK_ELEMENT_H

#ifndef EK_ELEMENT
#error "built for each element type: define EK_ELEMENT as s8, s16 or f32"
#endif

#define EK_JOIN_(a, b)   a##_##b
#define EK_JOIN(a, b)    EK_JOIN_(a, b)
#define EK_STRING_(text) #text
#define EK_STRING(text)  EK_STRING_(text)

/* name_s8 and "name_s8.h", for s8. */
#define EK_TYPED(name)        EK_JOIN(name, EK_ELEMENT)
#define EK_TYPED_HEADER(name) EK_STRING(EK_TYPED(name).h)

#endif
