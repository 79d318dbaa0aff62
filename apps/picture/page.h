// A self-contained page: one HTML file with its style, pictures and scripts inside. It tells the browser (by a content security
// policy) to load nothing else.
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

/// `text` as it stands in HTML and SVG: & < > " ' are written as entities, control characters as U+FFFD.
std::string escaped(std::string_view text);

/// JSON as it may stand in a <script>: < > & and the line ends of JavaScript that JSON does not escape become \uXXXX. They occur
/// in its texts alone, so that a reader of JSON gets the same value.
std::string script_json(std::string_view json);

/// A picture as a file of its own, on white, because a viewer's background may be dark.
std::string standalone(const std::string& svg);

/// Error when a file exists at `path` that was not written by Page: pages go into folders that users choose, and replace only
/// pages.
void check_replaceable(const std::filesystem::path& path);

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
    /// Figures beside each other, as many in a row as fit. A picture grows and shrinks a little with its place; below three
    /// quarters of its own width, where its texts would become too small, it is scrolled. Charts and heat maps answer the pointer
    /// and the arrow keys: the page has their script.
    Page& figures(const std::vector<Figure>& figures);
    /// What follows, until close_section(), can be folded away under this line; `open`: it is not at first.
    Page& open_section(std::string_view text, bool open);
    Page& close_section();
    /// Parts of equal rank, each under its heading, in two columns where the window is wide enough. A part lasts until the next
    /// one or until close_parts().
    Page& part(std::string_view heading);
    Page& close_parts();
    /// A page beside this one.
    struct Link {
        std::string file;
        std::string text;
    };
    /// Links at the top of the page and once more at its end.
    Page& navigation(const std::vector<Link>& links);
    /// Pages beside this one, each with what is in it and a small picture (an <svg>, or nothing), which is shown without its
    /// texts and does not answer.
    struct Card {
        Link link;
        std::string text;
        std::string svg = {};
    };
    Page& cards(const std::vector<Card>& cards);

    /// Rules for this page, beside those of every page.
    Page& style(std::string_view css);
    /// An empty element of this id, for a script to fill; `without`: what stands there where scripts are off.
    Page& place(std::string_view id, std::string_view without);
    /// JSON that a script of the page reads from the element of this id.
    Page& data(std::string_view id, std::string_view json);
    /// Runs when the page has been read; nothing may end the element. The page must say what matters without it.
    Page& script(std::string_view text);

    /// The whole file.
    std::string html() const;
    /// Writes html() to `path`, which is replaced as a whole. Error when it cannot be written, or is not check_replaceable().
    void write(const std::filesystem::path& path) const;

  private:
    std::string title_;
    std::string navigation_;
    std::string body_;
    std::string style_;
    std::string scripts_;
    bool in_parts_ = false;
    bool answers_ = false;  // a figure is one for chart_js
};

}  // namespace heddle::picture
