"""Hooks of mkdocs for the site: the version, pages of kinds, runbooks, the rank of pages in the search, links to files outside docs/, notes
and warnings, tables and diagrams on phones, and diagrams without a content delivery network."""

import importlib.util
import os
import pathlib
import posixpath
import re
import shutil
import subprocess

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\((?P<path>[^)\s#:]+)(?P<fragment>#[^)\s]*)?\)")
CODE = re.compile(r"^ *(```|~~~)")
ITEM = re.compile(r"^ *([-*]|\d+\.) ")
INDENT = re.compile(r"^ {2,3}(?=\S)")
KIND = re.compile(r"^\| \[(?P<kind>\w+)\]\((?P<page>[^)]+)\) \| (?P<creator>[^|]+) \|", re.MULTILINE)
RUNBOOK = re.compile(r"^## (?P<section>.+)$|\]\(\.\./(?P<page>runbooks/(?P<name>\w+)\.md)", re.MULTILINE)
TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
HEAD = re.compile(r"<th(?: [^>]*)?>(?P<text>.*?)</th>", re.DOTALL)
ROW = re.compile(r"<tr>.*?</tr>", re.DOTALL)
CELL = re.compile(r"<td(?= |>)")
TAG = re.compile(r"<[^>]+>")
DIAGRAM = re.compile(r'<pre class="mermaid">.*?</pre>', re.DOTALL)
PREFACE = re.compile(r"\A\s*(?:<!--.*?-->\s*)+", re.DOTALL)
NOTE = re.compile(r"<blockquote>\s*<p><strong>(?P<title>Note|Warning):</strong>(?P<text>.*?)</blockquote>", re.DOTALL)
CREATORS = {"a tenant": "Claims", "the platform team": "Platform", "a ControlPlaneCluster": "Composed services"}  # Others: "Companion".
RANKS = {"Tutorials": 3, "How-to guides": 2, "Troubleshooting": 2, "Runbooks": 2, "Messages": 0.3, "Evidence": 0.2, "Release notes": 0.5, "Contributing": 0.5}
GUIDE = "contributing/guide.md"
MERMAID = "assets/javascripts/mermaid.min.js"


def on_config(config):
    """Sets the version, which the header shows: the nearest tag, or the commit. A site for mike has a menu of all versions. Adds kinds and
    runbooks to the navigation."""
    if "MIKE_DOCS_VERSION" in os.environ:
        config.extra["version"] = {"provider": "mike"}
    describe = ("git", "-C", ROOT, "describe", "--tags", "--always")
    config.extra["release"] = subprocess.run(describe, capture_output=True, text=True, check=False).stdout.strip() or "development"
    reference = next(section["Reference"] for section in config.nav if "Reference" in section)
    next(part["Kinds"] for part in reference if "Kinds" in part).extend(kinds())
    next(section["Runbooks"] for section in config.nav if "Runbooks" in section).extend(runbooks())


def kinds():
    """Returns the navigation of kinds: each row of the generated list, below its creator."""
    out = {title: [] for title in (*CREATORS.values(), "Companion")}
    for kind, page, creator in sorted(KIND.findall((ROOT / "docs" / "reference" / "README.md").read_text())):
        out[CREATORS.get(creator, "Companion")].append({kind: f"reference/{page}"})
    return [{title: pages} for title, pages in out.items()]


def runbooks():
    """Returns the navigation of runbooks: alerts by the sections of their index, then other conditions."""
    out, known = [], set()
    for index in ("alerts", "conditions"):
        section = index.capitalize()
        for match in RUNBOOK.finditer((ROOT / "docs" / "troubleshooting" / f"{index}.md").read_text()):
            if match["section"]:
                section = match["section"]
            elif match["page"] not in known:
                known.add(match["page"])
                if not out or section not in out[-1]:
                    out.append({section: []})
                out[-1][section].append({match["name"]: match["page"]})
    return out


def on_files(files, config):
    """Adds CONTRIBUTING.md, which is outside docs/ for GitHub, as a page."""
    files.append(File.generated(config, GUIDE, abs_src_path=str(ROOT / "CONTRIBUTING.md")))
    return files


def on_page_markdown(markdown, page, config, files):
    """Rewrites links to other files of the repository, and lists of GitHub's dialect. Hides the sidebar of the home page. Sets the rank of a
    page in the search: tasks are first, decisions and lists of messages last."""
    if page.is_homepage:
        page.meta["hide"] = ["navigation"]
    folder = posixpath.dirname(page.file.src_uri)
    sections = [section.title for section in page.ancestors] or ["Contributing"]  # Only decisions have no place in the navigation.
    if rank := next((RANKS[title] for title in sections if title in RANKS), None):
        page.meta["search"] = {"boost": rank}

    def rewrite(match):
        target = posixpath.normpath(posixpath.join("" if page.file.src_uri == GUIDE else f"docs/{folder}", match["path"]))
        source = GUIDE if target == "CONTRIBUTING.md" else posixpath.relpath(target, "docs")
        if files.get_file_from_path(source):
            return f"]({posixpath.relpath(source, folder or '.')}{match['fragment'] or ''})"
        if not (ROOT / target).exists():
            return match[0]
        kind = "tree" if (ROOT / target).is_dir() else "blob"
        return f"]({config.repo_url}/{kind}/main/{target}{match['fragment'] or ''})"

    lines, code, listed = [""], False, False
    for line in PREFACE.sub("", markdown).split("\n"):  # The search takes text before the heading for a page of its own.
        fence, item = CODE.match(line), ITEM.match(line)
        if not code:
            starts = item and not listed and (lines[-1].startswith(" ") or item[1] in "-*1.")
            if lines[-1].strip() and (fence or starts):
                lines.append("")  # Python's Markdown needs an empty line before a list and before code.
            listed = bool(item) if not lines[-1].strip() else listed
        code ^= bool(fence)
        lines.append(line if code else LINK.sub(rewrite, INDENT.sub("    ", line)))
    return "\n".join(lines)


def on_page_content(html, page, config, files):
    """Labels the cells of tables, which the style sheet shows below each other on phones, lets wide diagrams scroll, and highlights notes and
    warnings, which are quotes on GitHub."""

    def label(match):
        heads = [TAG.sub("", head["text"]).strip() for head in HEAD.finditer(match[0])]

        def cells(row):
            names = iter(heads)
            return CELL.sub(lambda _: f'<td data-label="{next(names, "")}"', row[0])

        return ROW.sub(cells, match[0])

    def admonition(match):
        return f'<div class="admonition {match["title"].lower()}"><p class="admonition-title">{match["title"]}</p><p>{match["text"]}</div>'

    return NOTE.sub(admonition, DIAGRAM.sub(r'<div class="diagram">\g<0></div>', TABLE.sub(label, html)))


def on_post_page(output, page, config):
    """Adds Mermaid to pages with diagrams. Material loads it from another site otherwise."""
    if 'class="mermaid"' not in output:
        return output
    script = posixpath.relpath(MERMAID, posixpath.dirname(page.file.dest_uri) or ".")
    return output.replace("</head>", f'<script src="{script}"></script></head>', 1)


def on_post_build(config):
    """Copies Mermaid into the site."""
    package = pathlib.Path(importlib.util.find_spec("mermaidx").origin).parent
    shutil.copy(package / "assets" / "mermaid.js", pathlib.Path(config.site_dir) / MERMAID)
