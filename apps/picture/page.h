// A page that opens from the disk: one HTML file with its style and pictures inside, no script from elsewhere, no network.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::picture {

/// A picture and what it shows.
struct Figure {
    std::string svg;
    std::string caption;
};

/// `text` as it stands in HTML and SVG: & < > " ' are written as entities, control characters as U+FFFD.
std::string escaped(std::string_view text);

/// A picture as a file of its own: on white, because what shows it may have a dark page and does not tell it.
std::string standalone(const std::string& svg);

/// Pieces of a page in the order in which they are added. All texts are plain: the page escapes them.
class Page {
  public:
    explicit Page(std::string title);

    Page& heading(std::string_view text);
    Page& paragraph(std::string_view text);
    /// A command or a program's output, in fixed width.
    Page& code(std::string_view text);
    /// Code with a mistake and without it, beside each other, or one above the other where the window is narrow.
    struct Listing {
        std::string_view title;
        std::string_view code;
    };
    Page& mistake(const Listing& wrong, const Listing& right);
    /// Rows of as many cells as the header has; a cell that reads as a number is set to the right. Error when a row is of another
    /// length.
    Page& table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);
    Page& figure(const Figure& figure);
    /// Figures beside each other, as many in a row as fit.
    Page& figures(const std::vector<Figure>& figures);
    /// What follows, until close_section(), can be folded away under this line; `open`: it is not at first.
    Page& open_section(std::string_view text, bool open);
    Page& close_section();
    /// A link to a page beside this one.
    Page& link(std::string_view file, std::string_view text);

    /// The whole file.
    std::string html() const;
    /// Writes html() to `path`, which is replaced as a whole. Error when it cannot be written.
    void write(const std::filesystem::path& path) const;

  private:
    std::string title_;
    std::string body_;
};

}  // namespace heddle::picture
