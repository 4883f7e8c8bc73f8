/* A file of its own: who never asks for a label links none. */
#include "model/model.h"

#include "model/flat.h"

static const char *labels_of(const ek_model *model, const uint8_t *tables, uint32_t count, uint32_t index,
                             uint32_t *bytes)
{
    ek_flat_table io;
    ek_flat_vector labels;
    *bytes = 0;
    if (!model->data || index >= count) return NULL;
    const ek_flat_file file = { model->data, (uint32_t)model->bytes };
    if (!ek_flat_element(&file, tables, index, &io)) return NULL;
    if (!ek_flat_open_vector(&file, &io, EK_SLOT_IO_LABELS, 1, 1, &labels) || !labels.count) return NULL;
    if (labels.data[labels.count - 1]) return NULL;
    *bytes = labels.count;
    return (const char *)labels.data;
}

const char *ek_input_labels(const ek_model *model, uint32_t index, uint32_t *bytes)
{
    return model && bytes ? labels_of(model, model->inputs, model->input_count, index, bytes) : NULL;
}

const char *ek_output_labels(const ek_model *model, uint32_t index, uint32_t *bytes)
{
    return model && bytes ? labels_of(model, model->outputs, model->output_count, index, bytes) : NULL;
}

const char *ek_label(const char *labels, uint32_t bytes, uint32_t i)
{
    if (!labels || !bytes || labels[bytes - 1]) return NULL;
    const char *const end = labels + bytes;
    for (; i && labels < end; i--)
        while (*labels++) {
        }
    return labels < end ? labels : NULL;
}
