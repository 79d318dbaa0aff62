// A self-contained page: one HTML file that contains its style, pictures and scripts. A content security policy keeps the browser
// from loading anything else.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::picture {

/// A picture and its caption.
struct Figure {
    std::string svg;
    std::string caption;
};

/// `text` escaped for HTML and SVG: & < > " ' become entities, control characters become U+FFFD.
std::string escaped(std::string_view text);

/// JSON escaped for a <script>: < > & and JavaScript's line terminators that JSON does not escape become \uXXXX. These occur only
/// in strings, so parsing gives the same value.
std::string script_json(std::string_view json);

/// A picture as a separate file: dark on white or, where the viewer prefers a dark page, light on dark.
std::string standalone(const std::string& svg);

/// Whether a file lies there. Error if it is a folder, or anything else that is not a regular file.
bool check_regular(const std::filesystem::path& path);
/// Error if `path` is a file that was not written by Page: users choose the folders of pages, and a page may only replace a page.
void check_replaceable(const std::filesystem::path& path);
/// The same for pictures of a Drawing.
void check_picture_replaceable(const std::filesystem::path& path);

/// The parts of a page in the order in which they are added. All text is plain: the page escapes it.
class Page {
  public:
    explicit Page(std::string title);

    Page& heading(std::string_view text);
    Page& paragraph(std::string_view text);
    /// A command or a program's output, in a fixed-width font.
    Page& code(std::string_view text);
    /// Code with a mistake and without it, side by side, or one above the other in a narrow window.
    struct Listing {
        std::string_view title;
        std::string_view code;
    };
    Page& mistake(const Listing& wrong, const Listing& right);
    /// Rows with as many cells as the header; numeric cells are right-aligned. Error if a row has a different length.
    Page& table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);
    Page& figure(const Figure& figure);
    /// Figures side by side, as many in a row as fit. A picture scales a little with the space available; below three quarters of
    /// its own width, where its text would be too small, it scrolls.
    Page& figures(const std::vector<Figure>& figures);
    /// Starts a collapsible section with this summary, up to close_section(); `open`: initially expanded.
    Page& open_section(std::string_view text, bool open);
    Page& close_section();
    /// A page in the same folder.
    struct Link {
        std::string file;
        std::string text;
    };
    /// Links at the top and at the bottom of the page.
    Page& navigation(const std::vector<Link>& links);
    /// Pages in the same folder, each with a summary and a small picture (an <svg>, or empty), which is shown without text.
    struct Card {
        Link link;
        std::string text;
        std::string svg = {};
    };
    Page& cards(const std::vector<Card>& cards);

    /// CSS rules for this page, in addition to those of every page.
    Page& style(std::string_view css);
    /// An element with this id, to be filled by a script; `without` is shown if scripts are off.
    Page& place(std::string_view id, std::string_view without);
    /// JSON that a script of the page reads from the element with this id.
    Page& data(std::string_view id, std::string_view json);
    /// Runs once the page is parsed; the text must not contain a closing tag. The page must be usable without scripts.
    Page& script(std::string_view text);

    /// The whole file.
    std::string html() const;
    /// Writes html() to `path` atomically. Error if it cannot be written or fails check_replaceable().
    void write(const std::filesystem::path& path) const;

  private:
    std::string title_;
    std::string navigation_;
    std::string body_;
    std::string style_;
    std::string data_;
    std::vector<std::string> scripts_;
};

}  // namespace heddle::picture
