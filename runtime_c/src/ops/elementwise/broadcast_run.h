/* `run` of operators of two inputs that broadcast, whose files define ELEMENT, `params` and, before this, one row,
 * p->shape.dims[3] elements that lie p->shape.a[3] and p->shape.b[3] apart in the inputs:
 *     static void row(ELEMENT *out, const ELEMENT *a, const ELEMENT *b, const params *p)
 */
static ek_status run(const ek_node *n)
{
    const params *p = n->params;
    const ELEMENT *a = ek_in(n, 0), *b = ek_in(n, 1);
    ELEMENT *out = ek_out(n, 0);
    ek_rows r = { 0 };
    do {
        row(out + r.out, a + r.a, b + r.b, p);
    } while (ek_rows_next(&r, &p->shape));
    return EK_OK;
}
