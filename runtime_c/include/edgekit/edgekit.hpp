/* edgekit runtime for C++17: edgekit.h with types that are checked. Header only.
 *
 * No exceptions, no run-time type information, no heap: it compiles with -fno-exceptions -fno-rtti. Functions that
 * can fail return an `error`, which is true if there is one, or a `result`, which is true if there is none.
 */
#ifndef EDGEKIT_EDGEKIT_HPP
#define EDGEKIT_EDGEKIT_HPP

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "edgekit/edgekit.h"

namespace edgekit
{

/* What went wrong: true if something did. */
class [[nodiscard]] error
{
  public:
    constexpr error() noexcept = default;
    constexpr error(ek_status code) noexcept : code_(code) {}
    constexpr explicit operator bool() const noexcept { return code_ != EK_OK; }
    constexpr ek_status code() const noexcept { return code_; }
    /* In words; of constant storage. */
    const char *text() const noexcept { return ek_status_str(code_); }

  private:
    ek_status code_ = EK_OK;
};

/* A value, or why there is none: true if it is there. Without one `*` gives a T{}. */
template <class T> class [[nodiscard]] result
{
  public:
    constexpr result(T value) noexcept : value_(value) {}
    constexpr result(error why) noexcept : why_(why) {}
    constexpr explicit operator bool() const noexcept { return !why_; }
    constexpr const T &operator*() const noexcept { return value_; }
    constexpr const T *operator->() const noexcept { return &value_; }
    constexpr error why() const noexcept { return why_; }

  private:
    T value_{};
    error why_{};
};

/* `size` elements in somebody else's memory; std::span of C++20 as far as it is needed. */
template <class T> class span
{
  public:
    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <std::size_t N> constexpr span(T (&array)[N]) noexcept : data_(array), size_(N) {}
    /* Of a container, and of elements that become const. */
    template <class C, class = decltype(static_cast<T *>(std::declval<C &>().data()))>
    constexpr span(C &container) noexcept : data_(container.data()), size_(container.size())
    {
    }
    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr T *begin() const noexcept { return data_; }
    constexpr T *end() const noexcept { return data_ + size_; }
    constexpr T &operator[](std::size_t i) const noexcept { return data_[i]; }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/* Memory of a session or a file, aligned as they must be; static, on the stack, or a member. */
template <std::size_t Bytes> struct memory {
    alignas(EK_ALIGN) unsigned char bytes[Bytes];
    operator span<unsigned char>() noexcept { return { bytes, Bytes }; }
};

/* The EK_DTYPE_* of elements of type T; -1 of types that no tensor has. */
template <class T>
inline constexpr int dtype_of = std::is_same_v<T, float>           ? EK_DTYPE_FLOAT32
                                : std::is_same_v<T, double>        ? EK_DTYPE_FLOAT64
                                : std::is_same_v<T, std::int8_t>   ? EK_DTYPE_INT8
                                : std::is_same_v<T, std::uint8_t>  ? EK_DTYPE_UINT8
                                : std::is_same_v<T, std::int16_t>  ? EK_DTYPE_INT16
                                : std::is_same_v<T, std::int32_t>  ? EK_DTYPE_INT32
                                : std::is_same_v<T, std::int64_t>  ? EK_DTYPE_INT64
                                : std::is_same_v<T, std::uint64_t> ? EK_DTYPE_UINT64
                                                                   : -1;

/* An input or output. Real numbers are scale() * (q - zero_point()) where is_quantized(). */
class port
{
  public:
    port() noexcept = default;
    explicit port(const ek_io &io) noexcept : io_(io) {}
    const char *name() const noexcept { return io_.name; }
    /* In the order of the ONNX model's axes. */
    span<const std::uint32_t> shape() const noexcept { return { io_.shape, io_.rank }; }
    int dtype() const noexcept { return io_.dtype; }
    bool is_quantized() const noexcept { return io_.scale > 0; }
    float scale() const noexcept { return io_.scale; }
    std::int32_t zero_point() const noexcept { return io_.zero_point; }
    std::size_t bytes() const noexcept { return io_.bytes; }

    /* The elements, in place; EK_ERR_ARG if they are not of type T, or the port is a model's, which has none. */
    template <class T> result<span<T>> as() const noexcept
    {
        static_assert(dtype_of<std::remove_const_t<T>> >= 0, "no tensor has elements of this type");
        if (!io_.data || io_.dtype != dtype_of<std::remove_const_t<T>>) return error(EK_ERR_ARG);
        return span<T>{ static_cast<T *>(io_.data), io_.bytes / sizeof(T) };
    }

    /* Real numbers into an input of int8, int16 or float32: quantized as the model wants it, by these kernels or the
     * portable ones. EK_ERR_ARG for another number of them, or another type. */
    error write(span<const float> real, const ek_kernels *kernels = nullptr) const noexcept
    {
        if (const auto q = as<std::int8_t>(); q && q->size() == real.size() && is_quantized()) {
            ek_quantize_f32_s8(kernels, q->data(), real.data(), real.size(), io_.scale, io_.zero_point);
            return {};
        }
        if (const auto q = as<std::int16_t>(); q && q->size() == real.size() && is_quantized()) {
            ek_quantize_f32_s16(kernels, q->data(), real.data(), real.size(), io_.scale);
            return {};
        }
        const auto floats = as<float>();
        if (!floats || floats->size() != real.size()) return EK_ERR_ARG;
        for (std::size_t i = 0; i < real.size(); i++) (*floats)[i] = real[i];
        return {};
    }

    /* The real numbers of an output; likewise. */
    error read(span<float> real) const noexcept
    {
        if (const auto q = as<std::int8_t>(); q && q->size() == real.size() && is_quantized()) {
            ek_dequantize_s8_f32(real.data(), q->data(), real.size(), io_.scale, io_.zero_point);
            return {};
        }
        if (const auto q = as<std::int16_t>(); q && q->size() == real.size() && is_quantized()) {
            ek_dequantize_s16_f32(real.data(), q->data(), real.size(), io_.scale);
            return {};
        }
        const auto floats = as<float>();
        if (!floats || floats->size() != real.size()) return EK_ERR_ARG;
        for (std::size_t i = 0; i < real.size(); i++) real[i] = (*floats)[i];
        return {};
    }

  private:
    ek_io io_{};
};

/* A file that has been opened. Sessions point to it: it stays where it is and outlives them. */
class model
{
  public:
    using open_function = ek_status(ek_model *, const void *, std::size_t, std::uint32_t);

    model() noexcept = default;
    model(const model &) = delete;
    model &operator=(const model &) = delete;

    /* As ek_model_open: the bytes stay in place, aligned to EK_ALIGN. `by` is the function of a model that was built
     * in, kws_model_open or so. */
    error open(span<const unsigned char> file, std::uint32_t flags = EK_OPEN_DEFAULT,
               open_function *by = ek_model_open) noexcept
    {
        return by(&handle_, file.data(), file.size(), flags);
    }
    std::uint32_t inputs() const noexcept { return ek_input_count(&handle_); }
    std::uint32_t outputs() const noexcept { return ek_output_count(&handle_); }
    result<port> input(std::uint32_t index) const noexcept
    {
        ek_io io;
        const error why = ek_model_input(&handle_, index, &io);
        return why ? result<port>(why) : port(io);
    }
    result<port> output(std::uint32_t index) const noexcept
    {
        ek_io io;
        const error why = ek_model_output(&handle_, index, &io);
        return why ? result<port>(why) : port(io);
    }
    /* Bytes of memory that a session takes. */
    result<std::size_t> session_bytes(const ek_kernels *kernels = ek_kernels_select(nullptr)) const noexcept
    {
        std::size_t bytes;
        const error why = ek_session_size(&handle_, kernels, &bytes);
        return why ? result<std::size_t>(why) : bytes;
    }
    const ek_model *handle() const noexcept { return &handle_; }

  private:
    ek_model handle_{};
};

/* A model in memory to run in, by one thread at a time. It owns nothing: the memory is the caller's again when the
 * session is gone. */
class session
{
  public:
    session() noexcept = default;
    session(const session &) = delete;
    session &operator=(const session &) = delete;
    session(session &&other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
    session &operator=(session &&other) noexcept
    {
        ek_session *const taken = other.handle_;
        other.handle_ = nullptr;
        handle_ = taken;
        return *this;
    }

    /* As ek_session_init. After an error it is as it was. */
    error init(const model &of, span<unsigned char> memory,
               const ek_kernels *kernels = ek_kernels_select(nullptr)) noexcept
    {
        return ek_session_init(&handle_, memory.data(), memory.size(), of.handle(), kernels);
    }
    /* As ek_session_init_shared. */
    error init(const model &of, span<unsigned char> memory, span<unsigned char> arena,
               const ek_kernels *kernels) noexcept
    {
        return ek_session_init_shared(&handle_, memory.data(), memory.size(), arena.data(), arena.size(), of.handle(),
                                      kernels);
    }
    explicit operator bool() const noexcept { return handle_ != nullptr; }
    result<port> input(std::uint32_t index) const noexcept
    {
        ek_io io;
        const error why = ek_session_input(handle_, index, &io);
        return why ? result<port>(why) : port(io);
    }
    result<port> output(std::uint32_t index) const noexcept
    {
        ek_io io;
        const error why = ek_session_output(handle_, index, &io);
        return why ? result<port>(why) : port(io);
    }
    /* The elements of an input or output, in place; EK_ERR_ARG if they are not of type T. */
    template <class T> result<span<T>> input_as(std::uint32_t index) const noexcept
    {
        const auto found = input(index);
        return found ? found->template as<T>() : result<span<T>>(found.why());
    }
    template <class T> result<span<const T>> output_as(std::uint32_t index) const noexcept
    {
        const auto found = output(index);
        return found ? found->template as<const T>() : result<span<const T>>(found.why());
    }
    error run() noexcept { return ek_run(handle_); }
    /* At most `ops` operators; how many are left. */
    result<std::uint32_t> step(std::uint32_t ops) noexcept
    {
        std::uint32_t left;
        const error why = ek_step(handle_, ops, &left);
        return why ? result<std::uint32_t>(why) : left;
    }
    error reset() noexcept { return ek_session_reset(handle_); }
    ek_session *handle() const noexcept { return handle_; }

  private:
    ek_session *handle_ = nullptr;
};

} // namespace edgekit
#endif
