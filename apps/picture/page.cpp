#include "apps/picture/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>

#include "apps/picture/drawing.h"
#include "apps/terminal/terminal.h"
#include "apps/translation/text/unicode.h"
#include "core/file.h"
#include "core/format.h"
#include "core/text.h"

namespace heddle::picture {
namespace {

// Part of the head of every page, by which commands recognise files that they may replace.
constexpr std::string_view page_mark = "<meta name=\"generator\" content=\"heddle\"/>";

constexpr std::string_view base_style = R"(
:root { color-scheme: light dark; --line: #d0d4d9; --soft: #f3f5f7; }
body { max-width: 78rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif;
  color: #1b1f24; background: #ffffff; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
h1, h2, p, summary, figcaption, li { overflow-wrap: anywhere; } p, figcaption { max-width: 48rem; }
pre { background: var(--soft); padding: .7rem 1rem; overflow-x: auto; border-radius: 4px; }
.wide { overflow-x: auto; }
.listings { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 34rem), 1fr)); gap: 0 1.5rem; }
.listings > div { min-width: 0; } .listings pre { font-size: .85rem; margin: .5rem 0; border-left: 4px solid #0072b2; }
.listings > div:first-child pre { border-left-color: #d55e00; } .listings h2 { font-size: 1rem; margin: .5rem 0; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .25rem .8rem; text-align: left; border-bottom: 1px solid var(--line); vertical-align: top; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
figure { margin: 1rem 0; overflow-x: auto; } figcaption { font-size: .9rem; opacity: .85; }
figure > svg { display: block; width: 100%; height: auto; min-width: calc(.76 * var(--w)); max-width: calc(1.25 * var(--w)); }
.row { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, .76 * var(--w)), 1fr)); gap: 0 1rem;
  max-width: calc(var(--n) * (1.25 * var(--w) + 1rem)); }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; margin: 1rem 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr)); gap: 1rem; padding: 0;
  list-style: none; }
.cards li { border: 1px solid var(--line); border-radius: 4px; padding: .7rem; } .cards p { margin: .3rem 0 0; font-size: .9rem; }
.cards svg { display: block; width: 100%; height: 9rem; margin-bottom: .5rem; }
.cards svg text, .cards svg .entry { display: none; }
.readout { min-height: 1.5em; margin: .3rem 0; font-size: .9rem; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
:focus-visible { outline: 2px solid #d55e00; outline-offset: 2px; }
details { border-top: 1px solid var(--line); padding: .4rem 0; } summary { cursor: pointer; font-weight: 600; }
a { color: #0063a3; }
@media (max-width: 40rem) {
  body { margin: 1rem auto; padding: 0 .5rem; } table { font-size: .85rem; } th, td { padding: .25rem .4rem; }
  .listings pre { font-size: .75rem; padding: .5rem .6rem; }
}
@media (prefers-color-scheme: dark) {
  :root { --line: #3a4048; --soft: #22272e; } body { color: #e3e6ea; background: #16191d; } a { color: #6cb6ff; }
}
)";

// The colours of a picture outside of a page.
constexpr std::string_view picture_style =
    "<style>svg{background:#fff;color:#1b1f24}@media(prefers-color-scheme:dark){svg{background:#0d1117;color:#e6edf3}}</style>";

// Characters that XML does not allow, and control characters that a terminal or browser might act on.
bool is_forbidden(char32_t letter) {
    const bool control = letter < 0x20 || (letter >= 0x7f && letter < 0xa0);
    return (control && letter != U'\n' && letter != U'\t') || letter == 0xFFFE || letter == 0xFFFF;
}

// "-1.5", "1e-05", "nan", "45,188,096", "12.5 %"
bool reads_as_number(std::string text) {
    if (text.ends_with(" %")) text.resize(text.size() - 2);
    if (!text.starts_with(',') && text.find(",,") == std::string::npos) std::erase(text, ',');
    double value = 0;
    const std::from_chars_result read = from_chars(text.data(), text.data() + text.size(), value);
    return !text.empty() && read.ec == std::errc() && read.ptr == text.data() + text.size();
}

// A file name as a URL: reserved characters become %XX.
std::string address(std::string_view file) {
    std::string text;
    for (const char letter : file) {
        const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                           (letter >= '0' && letter <= '9') || std::string_view("-._~/").find(letter) != std::string_view::npos;
        text += plain ? std::string(1, letter) : fmt::format("%{:02X}", static_cast<unsigned char>(letter));
    }
    return text;
}

std::string cell(std::string_view text) {
    return fmt::format("<td{}>{}</td>", reads_as_number(std::string(text)) ? " class=\"n\"" : "", escaped(text));
}

// The width stated in the <svg> tag.
double width_of(const std::string& svg) {
    constexpr std::string_view name = " width=\"";
    const std::size_t at = svg.find(name);
    double width = 0;
    if (at < svg.find('>')) from_chars(svg.data() + at + name.size(), svg.data() + svg.size(), width);
    return width;
}

std::string figure_html(const Figure& figure) {
    const std::string caption = figure.caption.empty() ? "" : fmt::format("<figcaption>{}</figcaption>", escaped(figure.caption));
    const double width = width_of(figure.svg);
    const std::string room = width > 0 ? fmt::format(" style=\"--w:{:.0f}px\"", width) : "";
    return fmt::format("<figure{}>{}{}</figure>\n", room, figure.svg, caption);
}

std::string link_html(const Page::Link& link) {
    return fmt::format("<a href=\"{}\">{}</a>", address(link.file), escaped(link.text));
}

// The first bytes of a file; fewer if it is short.
std::string beginning_of(const std::filesystem::path& path) {
    std::string begin(4096, '\0');
    std::ifstream(path, std::ios::binary).read(begin.data(), static_cast<std::streamsize>(begin.size()));
    return begin;
}

}  // namespace

std::string escaped(std::string_view text) {
    std::string safe;
    for (const char32_t letter : app::decode_utf8(text)) {
        switch (letter) {
            case U'&': safe += "&amp;"; break;
            case U'<': safe += "&lt;"; break;
            case U'>': safe += "&gt;"; break;
            case U'"': safe += "&quot;"; break;
            case U'\'': safe += "&#39;"; break;
            default: app::append_utf8(safe, is_forbidden(letter) ? app::replacement_character : letter);
        }
    }
    return safe;
}

std::string script_json(std::string_view json) {
    std::string safe;
    for (const char32_t letter : app::decode_utf8(json))
        if (std::u32string_view(U"<>&\u2028\u2029").find(letter) != std::u32string_view::npos)
            safe += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(letter));
        else
            app::append_utf8(safe, letter);
    return safe;
}

std::string standalone(const std::string& svg) {
    constexpr std::string_view begin = "<svg ";
    if (!svg.starts_with(begin)) fail("a picture begins with '" + svg.substr(0, 20) + "', wanted '<svg '");
    std::string alone = svg;
    return alone.insert(alone.find('>') + 1, picture_style) + "\n";
}

bool check_regular(const std::filesystem::path& path) {
    const std::filesystem::file_status status = std::filesystem::status(path);
    check(!std::filesystem::is_directory(status), "{}: it is a folder; wanted the name of a file", path.string());
    check(!std::filesystem::exists(status) || std::filesystem::is_regular_file(status),
          "{}: it is a named pipe, a device or a socket; wanted the name of a file", path.string());
    return std::filesystem::exists(std::filesystem::symlink_status(path));
}

void check_replaceable(const std::filesystem::path& path) {
    check(!check_regular(path) || beginning_of(path).find(page_mark) != std::string::npos,
          "{}: this file is no page that heddle wrote; choose another folder, or move the file away", path.string());
}

void check_picture_replaceable(const std::filesystem::path& path) {
    check(!check_regular(path) || beginning_of(path).find(picture_mark) != std::string::npos,
          "{}: this file is no picture that heddle drew; choose another folder, or move the file away", path.string());
}

// File names occur in titles, notes and commands; as in a terminal, characters that turn the text are shown as escapes.
Page::Page(std::string title) : title_(app::terminal_text(title)) {}

Page& Page::heading(std::string_view text) {
    body_ += fmt::format("<h2>{}</h2>\n", escaped(text));
    return *this;
}

Page& Page::paragraph(std::string_view text) {
    body_ += fmt::format("<p>{}</p>\n", escaped(app::terminal_text(text)));
    return *this;
}

Page& Page::code(std::string_view text) {
    body_ += fmt::format("<pre>{}</pre>\n", escaped(app::terminal_text(text)));
    return *this;
}

Page& Page::mistake(const Listing& wrong, const Listing& right) {
    body_ += "<div class=\"listings\">\n";
    for (const Listing& one : {wrong, right})
        body_ += fmt::format("<div><h2>{}</h2>\n<pre>{}</pre></div>\n", escaped(one.title), escaped(one.code));
    body_ += "</div>\n";
    return *this;
}

Page& Page::table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows) {
    std::string html = "<div class=\"wide\"><table>\n<tr>";
    for (std::size_t i = 0; i < header.size(); ++i) {
        // A column's header is aligned like its numbers.
        const bool numbers = !rows.empty() && i < rows[0].size() && reads_as_number(rows[0][i]);
        html += fmt::format("<th{}>{}</th>", numbers ? " class=\"n\"" : "", escaped(header[i]));
    }
    html += "</tr>\n";
    for (std::size_t row = 0; row < rows.size(); ++row) {
        check(rows[row].size() == header.size(), "page '{}': row {} of a table has {} cells, its header {}", title_, row,
              rows[row].size(), header.size());
        html += "<tr>";
        for (const std::string& text : rows[row]) html += cell(text);
        html += "</tr>\n";
    }
    body_ += html + "</table></div>\n";
    return *this;
}

Page& Page::figure(const Figure& figure) {
    body_ += figure_html(figure);
    return *this;
}

Page& Page::figures(const std::vector<Figure>& figures) {
    double widest = 0;
    for (const Figure& one : figures) widest = std::max(widest, width_of(one.svg));
    body_ += fmt::format("<div class=\"row\" style=\"--w:{:.0f}px;--n:{}\">\n", widest, figures.size());
    for (const Figure& one : figures) figure(one);
    body_ += "</div>\n";
    return *this;
}

Page& Page::open_section(std::string_view text, bool open) {
    body_ += fmt::format("<details{}><summary>{}</summary>\n", open ? " open=\"\"" : "", escaped(text));
    return *this;
}

Page& Page::close_section() {
    body_ += "</details>\n";
    return *this;
}

Page& Page::navigation(const std::vector<Link>& links) {
    navigation_ = "<nav>";
    for (const Link& one : links) navigation_ += link_html(one);
    navigation_ += "</nav>\n";
    return *this;
}

Page& Page::cards(const std::vector<Card>& cards) {
    body_ += "<ul class=\"cards\">\n";
    for (const Card& one : cards) {
        const std::string picture = one.svg.empty() ? "" : fmt::format("<div aria-hidden=\"true\">{}</div>", one.svg);
        body_ += fmt::format("<li>{}{}<p>{}</p></li>\n", picture, link_html(one.link), escaped(one.text));
    }
    body_ += "</ul>\n";
    return *this;
}

Page& Page::style(std::string_view css) {
    style_ += css;
    return *this;
}

Page& Page::place(std::string_view id, std::string_view without) {
    body_ += fmt::format("<div id=\"{}\"><noscript><p>{}</p></noscript></div>\n", escaped(id), escaped(without));
    return *this;
}

Page& Page::data(std::string_view id, std::string_view json) {
    data_ += fmt::format("<script type=\"application/json\" id=\"{}\">{}</script>\n", escaped(id), script_json(json));
    return *this;
}

Page& Page::script(std::string_view text) {
    check(text.find("</script") == std::string_view::npos && text.find("<!--") == std::string_view::npos,
          "page '{}': a script has </script or <!-- in it, which would end it", title_);
    scripts_.emplace_back(text);
    return *this;
}

std::string Page::html() const {
    std::string scripts;
    for (const std::string& one : scripts_) scripts += fmt::format("<script>{}</script>\n", one);
    // The empty icon keeps browsers from requesting one; the policy blocks all other requests.
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>{1}<title>{0}</title>"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src &#39;none&#39;; img-src data:; "
        "style-src &#39;unsafe-inline&#39;; script-src &#39;{2}&#39;\"/>"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/><link rel=\"icon\" href=\"data:,\"/>\n"
        "<style>{3}{4}</style></head>\n<body>\n{5}<h1>{0}</h1>\n{6}{5}{7}{8}</body></html>\n",
        escaped(title_), page_mark, data_.empty() && scripts.empty() ? "none" : "unsafe-inline", base_style, style_, navigation_,
        body_, data_, scripts);
}

void Page::write(const std::filesystem::path& path) const {
    check_replaceable(path);
    write_file_atomically(path, html());
}

}  // namespace heddle::picture
