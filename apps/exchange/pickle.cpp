// The stack machine of a pickle of weights. It makes no objects: a value is a number, a place in the pickle, or an index.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "apps/exchange/torch_file.h"
#include "core/format.h"
#include "core/safetensors_header.h"

namespace heddle::app {
namespace {

constexpr std::size_t longest_pickle = std::size_t{1} << 20;  // an index of 6,000 tensors
constexpr std::size_t most_values = 10'000;                   // at a time: Python sets 1,000 items at once
constexpr std::size_t longest_key = 64;                       // of a storage: Python numbers them

enum class Kind : std::uint8_t { boolean, integer, text, global, tuple, dictionary, ordered_dictionary, storage, tensor };

/// 16 bytes, whatever it stands for.
struct Value {
    Kind kind = Kind::boolean;
    std::uint32_t count = 0;  ///< bytes of a text, items of a tuple
    std::int64_t where = 0;   ///< the number itself; or where a text begins in the pickle, a tuple in items; or an index
};

constexpr std::array<std::string_view, 5> globals = {"collections OrderedDict", "torch._utils _rebuild_tensor_v2",
                                                     "torch FloatStorage", "torch HalfStorage", "torch BFloat16Storage"};
constexpr std::int64_t ordered_dictionary = 0, rebuild_tensor = 1, first_storage = 2;
constexpr std::array<std::string_view, 3> storage_dtypes = {"F32", "F16", "BF16"};

class Machine {
  public:
    explicit Machine(std::span<const std::byte> pickle) : pickle_(reinterpret_cast<const char*>(pickle.data()), pickle.size()) {}

    std::vector<TorchTensor> run() {
        check(pickle_.size() <= longest_pickle, "its pickle has {} bytes; wanted at most {}", pickle_.size(), longest_pickle);
        check(pickle_.starts_with("\x80\x02"), "its pickle does not begin with protocol 2");
        at_ = 2;
        while (step()) continue;
        check(at_ == pickle_.size(), "its pickle goes on after its end");
        check(stack_.size() == 1 && marks_.empty(), "its pickle leaves {} values; wanted one", stack_.size());
        const Value result = stack_.back();
        check(is_dictionary(result), "its pickle is no dictionary of tensors; save model.state_dict()");
        return tensors_of(result);
    }

  private:
    struct Storage {
        Value key;
        std::int64_t type = 0;
        std::int64_t elements = 0;
    };
    struct Part {
        std::int64_t storage = 0;
        std::int64_t begin = 0;
        Shape shape;
    };
    struct Item {
        std::int64_t dictionary;
        Value key, value;
    };

    static bool is_dictionary(const Value& value) {
        return value.kind == Kind::dictionary || value.kind == Kind::ordered_dictionary;
    }
    std::string_view text(const Value& value) const { return pickle_.substr(static_cast<std::size_t>(value.where), value.count); }

    template <class Number>
    Number take() {
        check(pickle_.size() - at_ >= sizeof(Number), "its pickle ends within an instruction");
        Number number;
        std::memcpy(&number, pickle_.data() + at_, sizeof number);
        at_ += sizeof number;
        return number;
    }
    std::string_view take_line() {
        const std::size_t end = pickle_.find('\n', at_);
        check(end != std::string_view::npos, "its pickle ends within a name");
        const std::string_view line = pickle_.substr(at_, end - at_);
        at_ = end + 1;
        return line;
    }

    void push(const Value& value) {
        check(stack_.size() < most_values, "its pickle holds more than {} values at a time", most_values);
        stack_.push_back(value);
    }
    void push(Kind kind, std::int64_t where, std::uint32_t count = 0) { push({kind, count, where}); }
    Value pop(const char* wanted) {
        check(stack_.size() > (marks_.empty() ? 0 : marks_.back()), "its pickle lacks {}", wanted);
        const Value value = stack_.back();
        stack_.pop_back();
        return value;
    }
    Value pop(Kind kind, const char* wanted) {
        const Value value = pop(wanted);
        check(value.kind == kind, "its pickle has another value in place of {}", wanted);
        return value;
    }
    std::size_t take_mark() {
        check(!marks_.empty(), "its pickle lacks a mark");
        const std::size_t mark = marks_.back();
        marks_.pop_back();
        return mark;
    }

    /// One instruction; false after the last one.
    bool step() {
        const std::size_t begin = at_;
        const auto code = take<std::uint8_t>();
        switch (code) {
            case '}': push(Kind::dictionary, dictionaries_++); break;
            case '(': marks_.push_back(stack_.size()); break;
            case 'X': push_text(take<std::uint32_t>()); break;
            case 'c': push_global(); break;
            case 'J': push(Kind::integer, take<std::int32_t>()); break;
            case 'K': push(Kind::integer, take<std::uint8_t>()); break;
            case 'M': push(Kind::integer, take<std::uint16_t>()); break;
            case ')': push_tuple(stack_.size()); break;
            case 't': push_tuple(take_mark()); break;
            case 0x85:
            case 0x86:
            case 0x87: push_last(code - 0x84U); break;
            case 'Q': push_storage(); break;
            case 0x88:
            case 0x89: push(Kind::boolean, code == 0x88 ? 1 : 0); break;
            case 'R': call(); break;
            case 'q': remember(take<std::uint8_t>()); break;
            case 'r': remember(take<std::uint32_t>()); break;
            case 'h': recall(take<std::uint8_t>()); break;
            case 'j': recall(take<std::uint32_t>()); break;
            case 's': check(stack_.size() >= 2, "its pickle lacks an item"), set_items(stack_.size() - 2); break;
            case 'u': set_items(take_mark()); break;
            case 'b': build(); break;
            case '.': return false;
            default:
                fail_with("its pickle has the instruction 0x{:02x} at byte {}, which weights do not need; nothing was executed",
                          code, begin);
        }
        return true;
    }

    void push_text(std::uint32_t length) {
        check(length <= pickle_.size() - at_, "its pickle ends within a text of {} bytes", length);
        push(Kind::text, static_cast<std::int64_t>(at_), length);
        at_ += length;
    }

    void push_global() {
        const std::string_view module = take_line(), name = take_line();
        const std::string whole = fmt::format("{} {}", module, name);
        const auto* const known = std::ranges::find(globals, whole);
        check(known != globals.end(), "its pickle asks for {}, which weights do not need; nothing was executed",
              shown(fmt::format("{}.{}", module, name)));
        push(Kind::global, known - globals.begin());
    }

    void push_last(std::size_t count) {
        check(stack_.size() >= count + (marks_.empty() ? 0 : marks_.back()), "its pickle lacks the items of a tuple");
        push_tuple(stack_.size() - count);
    }
    void push_tuple(std::size_t first) {
        const Value tuple{Kind::tuple, static_cast<std::uint32_t>(stack_.size() - first),
                          static_cast<std::int64_t>(items_.size())};
        items_.insert(items_.end(), stack_.begin() + static_cast<std::ptrdiff_t>(first), stack_.end());
        stack_.resize(first);
        push(tuple);
    }
    std::span<const Value> items(const Value& tuple) const {
        return std::span(items_).subspan(static_cast<std::size_t>(tuple.where), tuple.count);
    }
    static void want(std::span<const Value> items, std::initializer_list<Kind> kinds, const char* what) {
        check(std::ranges::equal(items, kinds, {}, &Value::kind), "its pickle has {} of another form", what);
    }

    /// ("storage", type, key, device, number of elements)
    void push_storage() {
        const Value tuple = pop(Kind::tuple, "a storage");
        const std::span<const Value> parts = items(tuple);
        want(parts, {Kind::text, Kind::global, Kind::text, Kind::text, Kind::integer}, "a storage");
        check(text(parts[0]) == "storage" && parts[1].where >= first_storage && parts[2].count <= longest_key &&
                  parts[4].where >= 0,
              "its pickle has a storage of another form");
        storages_.push_back({parts[2], parts[1].where - first_storage, parts[4].where});
        push(Kind::storage, static_cast<std::int64_t>(storages_.size()) - 1);
    }

    void call() {
        const Value arguments = pop(Kind::tuple, "arguments");
        const Value function = pop(Kind::global, "a function");
        check(function.where < first_storage, "its pickle calls {}", globals[static_cast<std::size_t>(function.where)]);
        if (function.where == ordered_dictionary) {
            check(arguments.count == 0, "its pickle makes an OrderedDict of something");
            push(Kind::ordered_dictionary, dictionaries_++);
        } else {
            push_tensor(items(arguments));
        }
    }

    /// (storage, first element, sizes, strides, requires_grad, hooks)
    void push_tensor(std::span<const Value> parts) {
        want(parts, {Kind::storage, Kind::integer, Kind::tuple, Kind::tuple, Kind::boolean, Kind::ordered_dictionary},
             "a tensor");
        const std::span<const Value> sizes = items(parts[2]), strides = items(parts[3]);
        check(parts[1].where >= 0 && sizes.size() <= Shape::kMaxRank && sizes.size() == strides.size(),
              "its pickle has a tensor of another form");
        Shape shape;
        for (const Value& size : sizes) {
            check(size.kind == Kind::integer && size.where >= 0, "its pickle has a tensor without a size");
            shape.append(size.where);
        }
        std::int64_t stride = 1;
        for (std::size_t axis = sizes.size(); axis-- > 0;) {
            check(strides[axis].kind == Kind::integer && (sizes[axis].where <= 1 || strides[axis].where == stride),
                  "its pickle has a tensor {} that is not stored row by row; save it after contiguous()", shape);
            check(!__builtin_mul_overflow(stride, std::max<std::int64_t>(sizes[axis].where, 1), &stride),
                  "its pickle has a tensor of the absurd shape {}", shape);
        }
        parts_.push_back({parts[0].where, parts[1].where, shape});
        push(Kind::tensor, static_cast<std::int64_t>(parts_.size()) - 1);
    }

    /// Python numbers what it remembers without gaps.
    void remember(std::uint32_t number) {
        check(!stack_.empty() && number <= memory_.size(), "its pickle remembers value {} after {}", number, memory_.size());
        if (number == memory_.size()) memory_.emplace_back();
        memory_[number] = stack_.back();
    }
    void recall(std::uint32_t number) {
        check(number < memory_.size(), "its pickle recalls value {} of {}", number, memory_.size());
        push(memory_[number]);
    }

    /// The values from `first` are keys and values for the dictionary before them.
    void set_items(std::size_t first) {
        check(
            first > (marks_.empty() ? 0 : marks_.back()) && (stack_.size() - first) % 2 == 0 && is_dictionary(stack_[first - 1]),
            "its pickle sets items of no dictionary");
        for (std::size_t i = first; i < stack_.size(); i += 2)
            entries_.push_back({stack_[first - 1].where, stack_[i], stack_[i + 1]});
        stack_.resize(first);
    }

    /// A state_dict() has an attribute _metadata, the versions of PyTorch's modules: passed over.
    void build() {
        check(is_dictionary(pop("a state")), "its pickle gives an object a state that is no dictionary");
        check(!stack_.empty() && stack_.back().kind == Kind::ordered_dictionary, "its pickle gives a state to no OrderedDict");
    }

    std::vector<TorchTensor> tensors_of(const Value& dictionary) const {
        std::vector<const Item*> chosen;
        std::vector<std::string_view> names;
        for (const Item& entry : entries_) {
            if (entry.dictionary != dictionary.where) continue;
            check(entry.key.kind == Kind::text, "its dictionary has a key that is no name");
            check(entry.value.kind == Kind::tensor, "its entry {} is no tensor; save model.state_dict()", shown(text(entry.key)));
            chosen.push_back(&entry);
            names.push_back(text(entry.key));
        }
        check(!chosen.empty(), "it has no tensors");
        // Before names are copied: an entry takes few bytes when its name was remembered.
        std::ranges::sort(names);
        const auto twice = std::ranges::adjacent_find(names);
        check(twice == names.end(), "it has two tensors {}", twice == names.end() ? "" : shown(*twice));
        std::vector<TorchTensor> tensors;
        for (const Item* entry : chosen) {
            const Part& part = parts_[static_cast<std::size_t>(entry->value.where)];
            const Storage& storage = storages_[static_cast<std::size_t>(part.storage)];
            tensors.push_back({std::string(text(entry->key)), std::string(text(storage.key)),
                               std::string(storage_dtypes[static_cast<std::size_t>(storage.type)]), part.shape, part.begin,
                               storage.elements});
        }
        return tensors;
    }

    std::string_view pickle_;
    std::size_t at_ = 0;
    std::vector<Value> stack_, items_, memory_;
    std::vector<std::size_t> marks_;  // sizes of the stack
    std::int64_t dictionaries_ = 0;
    std::vector<Item> entries_;  // of all dictionaries
    std::vector<Storage> storages_;
    std::vector<Part> parts_;
};

}  // namespace

std::vector<TorchTensor> read_torch_pickle(std::span<const std::byte> pickle) { return Machine(pickle).run(); }

}  // namespace heddle::app
