"""The documentation as a web site, for docs/make-site.sh.

site.py collect WORK PAGES   copies the repository's Markdown pages, what they link to, and PAGES into WORK/docs, and writes WORK/mkdocs.yml
site.py check SITE           fails at a link of SITE that leads nowhere

MkDocs also loads this file for its hooks.
"""
import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

# The order for readers. A README or page of the repository that is in none of these lists is an error.
SECTIONS = {
    'Start': ['README.md', 'docs/install.md', 'docs/first-hour.md', 'docs/coming-from.md'],
    'Learn': ['docs/microgpt.md', 'docs/gpu-basics.md', 'docs/explain.md', 'explain/pages.md', 'docs/learn.md', 'docs/tape.md', 'docs/add-an-op.md', 'docs/presets.md', 'apps/lab/README.md',
              'lab/pages.md'],
    'Chapters: kernels': ['kernels/README.md', 'kernels/*/README.md'],
    'Use': ['docs/command-line.md', 'docs/schedules.md', 'docs/resuming.md', 'docs/serve.md', 'docs/model-format.md', 'docs/exchange.md',
            'docs/python.md', 'docs/machines.md', 'docs/cuda.md', 'docs/check.md', 'docs/errors.md', 'docs/security.md', 'SECURITY.md'],
    'Verify': ['docs/measuring.md', 'docs/measured/*.md', 'tests/*/README.md'],
    'Reference': ['api/pages.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'core/README.md', 'autograd/README.md', 'nn/README.md', 'nn/search/README.md',
                  'optim/README.md', 'heddle/README.md', 'apps/README.md', 'apps/**/README.md'],
}
LANGUAGES = {'.cu': 'cpp', '.cpp': 'cpp', '.h': 'cpp', '.py': 'python', '.sh': 'bash', '.toml': 'toml', '.cmake': 'cmake'}
COPIED = {'.html', '.svg', '.png', '.jpg'}
LINK = re.compile(r'(\]\(|\b(?:src|href)=")([^)\s"]+)(?=[)"])')


# ---- collect


def github_slug(text, separator='-'):
    """The anchor that GitHub gives a heading."""
    return re.sub(r'[^\w\- ]', '', text.strip().lower()).replace(' ', separator)


def github_markdown(text):
    """Python-Markdown begins a list or table only after an empty line, GitHub also without one."""
    lines, in_code = [], False
    starts = re.compile(r'([-*]|\d+\.) |\|')
    for line in text.split('\n'):
        before = lines[-1] if lines else ''
        if line.startswith('```'):
            in_code = not in_code
        elif not in_code and starts.match(line) and before and not starts.match(before) and not before.startswith(' '):
            lines.append('')
        lines.append(line)
    return '\n'.join(lines)


class Collector:
    def __init__(self, root, docs):
        self.root, self.docs, self.waiting, self.done = root, docs, [], set()
        command = ['git', '-C', root, 'ls-files', '-z', '--cached', '--others', '--exclude-standard']
        listed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        self.files = [name for name in listed.split('\0') if name]
        self.folders = {str(parent) for name in self.files for parent in pathlib.PurePath(name).parents}

    def page_of(self, target):
        """Where the site has this file or folder of the repository; it will be collected."""
        if f'{target}/README.md' in self.files:
            target += '/README.md'
        page = target
        if target in self.folders:
            page += '/index.md'
        elif pathlib.PurePath(target).suffix not in {'.md', *COPIED}:
            page += '.md'  # its text
        if page not in self.done:
            self.done.add(page)
            self.waiting.append((target, page))
        return page

    def link(self, page, url):
        path, mark, anchor = url.partition('#')
        if not path or urllib.parse.urlsplit(url).scheme:
            return url
        target = os.path.normpath(os.path.join(os.path.dirname(page), urllib.parse.unquote(path)))
        if target not in self.folders and target not in self.files:
            sys.exit(f'{page}: {url} leads to no file of the repository')
        return os.path.relpath(self.page_of(target), os.path.dirname(page) or '.') + mark + anchor

    def with_links(self, page, text):
        parts = re.split(r'(^```.*?^```|`[^`\n]*`)', text, flags=re.M | re.S)
        for i in range(0, len(parts), 2):
            parts[i] = LINK.sub(lambda found: found[1] + self.link(page, found[2]), parts[i])
        return ''.join(parts)

    def collect(self, page):
        self.page_of(page)
        while self.waiting:
            target, page = self.waiting.pop()
            place = self.docs / page
            place.parent.mkdir(parents=True, exist_ok=True)
            source = self.root / target
            if target in self.folders:
                names = sorted({name[len(target) + 1:].split('/')[0] for name in self.files if name.startswith(target + '/')})
                links = [f'- [{name}]({self.link(page, name)})' for name in names]
                place.write_text(f'# `{target}`\n\n' + '\n'.join(links) + '\n')
            elif page.endswith('.md') and not target.endswith('.md'):
                language = LANGUAGES.get(source.suffix, 'text')
                place.write_text(f'# `{target}`\n\n~~~~~~~~{language}\n{source.read_text()}\n~~~~~~~~\n')
            elif page.endswith('.md'):
                place.write_text(github_markdown(self.with_links(page, source.read_text())))
            else:
                shutil.copyfile(source, place)


def add_explain_pages(docs):
    """A list of all pages, and in each chapter a list of those that run its kernels."""
    folder = docs / 'explain'
    listing = folder / 'list.txt'
    if not listing.exists():
        return
    rows, of_op = [], {}
    for line in listing.read_text().splitlines():
        name, shape, title = re.split(r'  +', line, maxsplit=2)
        rows.append(f'| [{name}]({name}.html) | {title} | {shape} |')
        for op in sorted(set(re.findall(r'"kernels/(\w+)/\w+\.cu"', (folder / f'{name}.html').read_text()))):
            of_op.setdefault(op, []).append(name)
    listing.unlink()
    head = '# All kernels, access by access\n\n[How to read these pages](../docs/explain.md)\n\n| kernel | | shape |\n|---|---|---|\n'
    (folder / 'pages.md').write_text(head + '\n'.join(rows) + '\n')
    for op, names in of_op.items():
        chapter = docs / 'kernels' / op / 'README.md'
        links = ', '.join(f'[{name}](../../explain/{name}.html)' for name in names)
        chapter.write_text(chapter.read_text() + f'\n## Every access\n\nPages that step through the warps of these kernels: {links}.\n')


def title_of(path):
    return re.search(r'^# (.*)$', path.read_text(), re.M)[1].replace('`', '')


def navigation(docs):
    """The contents, and the pages that are not among them."""
    left = {str(path.relative_to(docs)) for path in docs.rglob('*.md')}
    sections = []
    for section, patterns in SECTIONS.items():
        pages = []
        for pattern in patterns:
            for path in sorted(docs.glob(pattern)):
                name = str(path.relative_to(docs))
                if name in left:
                    left.remove(name)
                    pages.append({title_of(path): name})
        sections.append({section: pages})
    return sections, left


def collect(work, pages):
    root, docs = pathlib.Path(__file__).resolve().parents[2], work / 'docs'
    shutil.copytree(pages, docs)
    collector = Collector(root, docs)
    names = [name for name in collector.files if name.endswith('.md') and not name.startswith(('.github/', 'apps/learn/exercises/', 'docs/examples/'))]
    for name in names:
        collector.collect(name)
    add_explain_pages(docs)
    for folder, title in (('lab', 'All experiments'), ('api', 'The API of each room')):
        if (docs / folder).exists():
            (docs / folder / 'pages.md').write_text(f'# {title}\n\n[{title}](index.html)\n')
    sections, left = navigation(docs)
    if unlisted := sorted(left.intersection(names)):
        sys.exit(f'docs/site/site.py: no section of SECTIONS has {", ".join(unlisted)}')
    config = {'site_name': 'Heddle', 'docs_dir': str(docs), 'use_directory_urls': False, 'nav': sections, 'hooks': [os.path.abspath(__file__)],
              'theme': {'name': None, 'custom_dir': str(root / 'docs/site/theme'), 'static_templates': ['search.html']},
              'markdown_extensions': ['tables', 'fenced_code', 'sane_lists', 'toc']}
    (work / 'mkdocs.yml').write_text(json.dumps(config, indent=1))  # YAML, too


def on_config(config):
    """MkDocs calls it first: anchors as on GitHub, and colours for code if Pygments is there."""
    config['mdx_configs']['toc'] = {**config['mdx_configs'].get('toc', {}), 'slugify': github_slug}
    try:
        from pygments.formatters import HtmlFormatter
    except ImportError:
        return config
    config['markdown_extensions'].append('codehilite')
    config['mdx_configs']['codehilite'] = {'guess_lang': False}
    light, dark = (HtmlFormatter(style=style, nobackground=True).get_style_defs('.codehilite') for style in ('default', 'native'))
    pathlib.Path(config['docs_dir'], 'code.css').write_text(f'{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n')
    config['extra_css'].append('code.css')
    return config


def on_post_build(config):
    """MkDocs calls it after its search has written what it finds. A section's hit names its page, because the sections of many pages have one name;
    the first section, which has the page's own name, is found as the page."""
    index = pathlib.Path(config['site_dir'], 'search/search_index.json')
    found = json.loads(index.read_text())
    pages = {hit['location']: hit['title'] for hit in found['docs'] if '#' not in hit['location']}
    hits = []
    for hit in found['docs']:
        page = pages[hit['location'].partition('#')[0]]
        if hit['location'] in pages:
            hits.append(hit)
        elif hit['title'] != page:
            hits.append({**hit, 'title': f'{page}: {hit["title"]}'})
    index.write_text(json.dumps({**found, 'docs': hits}))


# ---- check


class Links(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], {''}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for key, value in attributes:
            if key in ('id', 'name'):
                self.anchors.add(value)
            elif key in ('href', 'src') and value:
                self.links.append(value)


def check(site):
    """Every link of every page, except the API's, which Doxygen checks itself."""
    pages = {path: Links(path.read_text()) for path in sorted(site.rglob('*.html')) if path.relative_to(site).parts[0] != 'api'}
    dead = []
    for page, found in pages.items():
        for link in found.links:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = pathlib.Path(os.path.normpath(page.parent / urllib.parse.unquote(url.path))) if url.path else page
            if not target.is_file() or (target in pages and urllib.parse.unquote(url.fragment) not in pages[target].anchors):
                dead.append(f'{page.relative_to(site)}: {link}')
    for line in dead:
        print('dead link in', line, file=sys.stderr)
    print(f'{len(pages)} pages, {sum(len(found.links) for found in pages.values())} links, {len(dead)} dead')
    return 1 if dead else 0


if __name__ == '__main__':
    if sys.argv[1] == 'collect':
        collect(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
    else:
        sys.exit(check(pathlib.Path(sys.argv[2])))
