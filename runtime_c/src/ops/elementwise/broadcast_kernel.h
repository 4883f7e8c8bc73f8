/* `run` of operators of two inputs that broadcast in a kernel, which repeats its second input alone. Their files
 * define ELEMENT, `params`, `terms`, what the kernel gets, and, before this,
 *     static terms terms_of(const params *p, bool swap)
 *     static void row(const ek_kernels *kernels, ELEMENT *out, const ELEMENT *a, const ELEMENT *b, size_t b_step,
 *                     size_t count, const terms *t)
 */
static ek_status run(const ek_node *n)
{
    const params *p = n->params;
    const ek_fmt_broadcast *s = &p->shape;
    const bool swap = ek_rows_swap(s);
    const terms t = terms_of(p, swap);
    const ELEMENT *a = ek_in(n, 0), *b = ek_in(n, 1);
    ELEMENT *out = ek_out(n, 0);
    ek_rows r = { 0 };
    do {
        const ELEMENT *x = a + r.a, *y = b + r.b;
        row(n->kernels, out + r.out, swap ? y : x, swap ? x : y, s->a[3] & s->b[3], s->dims[3], &t);
    } while (ek_rows_next(&r, s));
    return EK_OK;
}
