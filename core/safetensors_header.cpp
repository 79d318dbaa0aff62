#include "core/safetensors_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "core/format.h"

namespace heddle {
namespace {

using nlohmann::json;

/// Handles the JSON parser's events. The parser builds no tree and does not recurse, and this handler accepts only the few events
/// allowed next, so a hostile header costs no more than its own length.
class HeaderListener {
  public:
    SafetensorsHeader take() { return std::move(header_); }

    // The reference implementation treats null metadata as absent.
    bool null() {
        if (place_ != Place::header || key_ != "__metadata__") unexpected("null");
        return true;
    }
    bool boolean(bool) { unexpected("a truth value"); }
    bool number_integer(std::int64_t) { unexpected("a negative number"); }
    bool number_float(double, const std::string&) { unexpected("a number that is not a 64-bit integer"); }
    bool binary(const json::binary_t&) { unexpected("binary data"); }

    bool number_unsigned(std::uint64_t value) {
        if (place_ == Place::shape) {
            check(value <= INT64_MAX, "tensor {} has an extent of {}", shown(tensor_.name), value);
            check(tensor_.shape.rank() < Shape::kMaxRank, "tensor {} has more than {} axes", shown(tensor_.name),
                  Shape::kMaxRank);
            tensor_.shape.append(static_cast<std::int64_t>(value));
        } else if (place_ == Place::offsets) {
            check(offsets_ < 2, "tensor {} has more than two data_offsets", shown(tensor_.name));
            (offsets_++ == 0 ? tensor_.begin : tensor_.end) = value;
        } else {
            unexpected("a number");
        }
        return true;
    }

    bool string(const std::string& text) {
        if (place_ == Place::metadata)
            header_.metadata[key_] = text;
        else if (place_ == Place::tensor && key_ == "dtype")
            tensor_.dtype = text;
        else
            unexpected("a text");
        return true;
    }

    bool start_object(std::size_t) {
        if (place_ == Place::outside) {
            place_ = Place::header;
        } else if (place_ == Place::header) {
            place_ = key_ == "__metadata__" ? Place::metadata : Place::tensor;
            tensor_ = {};
            tensor_.name = key_;
            offsets_ = 0;
            fields_.clear();
        } else {
            unexpected("an object");
        }
        return true;
    }

    bool key(const std::string& text) {
        if (place_ == Place::header) {
            check(names_.insert(text).second, "the name {} occurs twice", shown(text));
        } else if (place_ == Place::metadata) {
            check(!header_.metadata.contains(text), "the metadata key {} occurs twice", shown(text));
        } else {
            check(text == "dtype" || text == "shape" || text == "data_offsets", "tensor {} has an unknown field {}",
                  shown(tensor_.name), shown(text));
            check(std::ranges::find(fields_, text) == fields_.end(), "tensor {} has the field {} twice", shown(tensor_.name),
                  shown(text));
            fields_.push_back(text);
        }
        key_ = text;
        return true;
    }

    bool end_object() {
        if (place_ == Place::tensor) {
            check(fields_.size() == 3, "tensor {} lacks one of dtype, shape and data_offsets", shown(tensor_.name));
            header_.tensors.push_back(std::move(tensor_));
        }
        place_ = place_ == Place::header ? Place::outside : Place::header;
        return true;
    }

    bool start_array(std::size_t) {
        if (place_ == Place::tensor && key_ == "shape")
            place_ = Place::shape;
        else if (place_ == Place::tensor && key_ == "data_offsets")
            place_ = Place::offsets;
        else
            unexpected("an array");
        return true;
    }

    bool end_array() {
        check(place_ == Place::shape || offsets_ == 2, "tensor {} has fewer than two data_offsets", shown(tensor_.name));
        place_ = Place::tensor;
        return true;
    }

    bool parse_error(std::size_t position, const std::string&, const json::exception& error) {
        // The library's message, "[json.exception...] parse error at line 1, column 9: REASON", quotes the offending token, which
        // may be as long as the header.
        const std::string_view text = error.what();
        const std::size_t colon = text.find(": ");
        fail_with("the header is not JSON, at its byte {}: {}", position,
                  shown(colon == std::string_view::npos ? text : text.substr(colon + 2)));
    }

  private:
    enum class Place { outside, header, metadata, tensor, shape, offsets };

    [[noreturn]] void unexpected(const char* what) const {
        switch (place_) {
            case Place::outside: fail_with("the header is {} instead of a JSON object", what);
            case Place::header: fail_with("the header has {} for {}, wanted an object", what, shown(key_));
            case Place::metadata: fail_with("the metadata key {} has {}, wanted a text", shown(key_), what);
            case Place::tensor: fail_with("tensor {} has {} as its {}", shown(tensor_.name), what, shown(key_));
            case Place::shape: fail_with("tensor {} has {} within its shape", shown(tensor_.name), what);
            case Place::offsets: break;
        }
        fail_with("tensor {} has {} within its data_offsets", shown(tensor_.name), what);
    }

    SafetensorsHeader header_;
    std::unordered_set<std::string> names_;
    Place place_ = Place::outside;
    std::string key_;
    SafetensorsEntry tensor_;
    std::vector<std::string> fields_;
    int offsets_ = 0;
};

std::string quoted(const std::string& text) {
    try {
        return json(text).dump();
    } catch (const json::exception&) {
        fail_with("safetensors: {} is not UTF-8", shown(text));
    }
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json_text) {
    check(json_text.starts_with('{'), "the header does not start with '{{'");
    // The JSON library treats a zero byte as the end of its input and would ignore what follows.
    check(json_text.find('\0') == std::string_view::npos, "the header contains a zero byte");
    HeaderListener listener;
    json::sax_parse(json_text.begin(), json_text.end(), &listener);
    return listener.take();
}

std::string safetensors_header_text(const SafetensorsHeader& header) {
    std::string text = "{";
    const auto separate = [&] {
        if (text.back() != '{') text += ',';
    };
    if (!header.metadata.empty()) {
        text += "\"__metadata__\":{";
        for (const auto& [key, value] : header.metadata) {
            separate();
            text += quoted(key) + ':' + quoted(value);
        }
        text += '}';
    }
    for (const SafetensorsEntry& tensor : header.tensors) {
        separate();
        std::string shape;
        for (int axis = 0; axis < tensor.shape.rank(); ++axis) shape += fmt::format("{}{}", axis ? "," : "", tensor.shape[axis]);
        text += fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", quoted(tensor.name), tensor.dtype,
                            shape, tensor.begin, tensor.end);
    }
    text += '}';
    text.resize((text.size() + 7) / 8 * 8, ' ');
    return text;
}

std::string shown(std::string_view name) {
    std::size_t length = std::min<std::size_t>(name.size(), 120);
    // Never cut inside a UTF-8 character, whose continuation bytes are 10xxxxxx.
    while (length < name.size() && length > 0 && (static_cast<unsigned char>(name[length]) & 0xc0) == 0x80) --length;
    std::string text = "'";
    text += name.substr(0, length);
    std::ranges::replace_if(
        text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
    if (length < name.size()) text += "...";
    return text + "'";
}

}  // namespace heddle
