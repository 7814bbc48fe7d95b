#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the pages of the API reference from the public headers and the examples; scripts/docs.sh calls it.

Usage: tools/document_api.py --pages FOLDER    writes the pages docs/api/*.md into the folder, completed
       tools/document_api.py --filter FILE     prints a header or page in the form that Doxygen takes
       tools/document_api.py --check FOLDER    checks the links of the HTML files in the folder

A line `<!-- entries HEADER EXAMPLES [except NAME...] -->` of a page becomes what the header declares: each layer, loss
or option with its comment, its defaults, and the first statement of docs/api/EXAMPLES that uses it. `declarations`
lists them as they are. `<!-- example FILE NAME -->` becomes the lines between two `//! [NAME]` of that file, and `<!-- names SOURCE -->` the names of a table in the sources. An
entry without a comment or without an example is an error, and so is a public header of a front end that no page has.
Prints what is wrong; exit status 1 if something is.
"""
import collections
import html.parser
import pathlib
import re
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
PUBLIC = ROOT / "include/pando"
Declaration = collections.namedtuple("Declaration", "namespace name comment code kind")
Field = collections.namedtuple("Field", "type name default comment")
# What headers need for their templates, and programs do not.
INTERNAL = ("CallResult", "ForwardMethod", "Signature")
# Values that `{}` makes.
EMPTY = [("std::optional", "not set"), ("InputShape", "not set"), ("std::string", '`""`'), ("Activation", '`"linear"`'),
         ("Regularizer", "none"), ("Function", "none"), ("Callbacks", "none"), ("std::vector", "empty"),
         ("std::map", "empty"), ("Losses", "none"), ("MetricList", "none"), ("Counts", "none")]


def declarations(text):
    """What the namespaces of a header declare, in order, each with the comment before it."""
    namespaces, comment, code, depth = [], [], [], 0
    for line in text.split("\n"):
        stripped = line.strip()
        if not code:
            if match := re.match(r"namespace ([\w:]+) \{$", stripped):
                namespaces.append(match[1])
            elif line.startswith("}"):
                namespaces.pop()
            if stripped.startswith("//") and "SPDX" not in stripped:
                comment.append(stripped[2:].strip())
                continue
            if not stripped or stripped.startswith(("#", "namespace", "}", "//")):
                comment = []
                continue
        code.append(line)
        bare = re.sub(r'//.*|"(?:\\.|[^"\\])*"|\'.\'', "", line)
        depth += sum(bare.count(c) for c in "({") - sum(bare.count(c) for c in ")}")
        if depth == 0 and bare.rstrip().endswith((";", "}")):
            if declared := declaration("::".join(namespaces), " ".join(comment), "\n".join(code)):
                yield declared
            comment, code = [], []


def declaration(namespace, comment, code):
    head = re.sub(r"^template <.*?>\n|^requires.*?\n", "", code, flags=re.DOTALL)
    if match := re.match(r"(?:struct|class) (?:PANDO_API )?(\w+)(?:<[^>]*>)?(?: : (?:public )?([\w:]+))?.* \{", head):
        kind = "options" if match[1].endswith("Options") and not match[2] and "PANDO_API" not in match[0] else "class"
        return Declaration(namespace, match[1], comment, code, kind)
    if match := re.match(r"enum class (\w+)", head):
        return Declaration(namespace, match[1], comment, code, "enum")
    if match := re.match(r"(?:PANDO_API|inline|[\w:<>&]+) [^=;{(]*?\b(\w+)\(", head):
        return Declaration(namespace, match[1], comment, code, "function")
    return None


def fields(code):
    comment, found = [], []
    for line in code.split("\n")[1:-1]:
        if line.strip().startswith("//"):
            comment.append(line.strip()[2:].strip())
            continue
        if match := re.match(r"  ([\w:].*?) (\w+ = .*);$", line):
            parts = re.split(r", (?=\w+ = )", match[2]) if "{" not in match[2] else [match[2]]
            for part in parts:
                name, _, default = part.partition(" = ")
                found.append(Field(match[1], name, default, " ".join(comment)))
        comment = []
    return found


def cell(text):
    return text.replace("|", "\\|")


def default_text(field):
    if field.default != "{}":
        return f"`{field.default}`"
    return next((text for start, text in EMPTY if field.type.startswith(start)), "`{}`")


def option_table(options):
    rows = [f"| `{field.name}` | `{cell(field.type)}` | {cell(default_text(field))} | {cell(field.comment)} |"
            for field in fields(options.code)]
    return "\n".join(["| option | type | default | meaning |", "|---|---|---|---|", *rows])


def signatures(declared):
    """How it is called: the constructors of a class, or the function itself."""
    code = re.sub(r"PANDO_API |inline |explicit |\[\[nodiscard\]\] ", "", declared.code)
    if declared.kind == "function":
        return [" ".join(re.sub(r"(\)(?: const)?) \{.*", r"\1", code, flags=re.DOTALL).rstrip(";").split())]
    body = code[code.index("{"):]
    found = re.findall(rf"^ +({declared.name}\([^;]*?\))(?=;| \{{|\s+: )", body.split(" private:")[0],
                       re.MULTILINE | re.DOTALL)
    return [" ".join(text.split()) for text in found if f"({'const '}{declared.name}&" not in text and "&&" not in text]


def balance(text):
    return sum(text.count(c) for c in "({[") - sum(text.count(c) for c in ")}]")


def statement_at(lines, i):
    """The statement that line i is part of; nothing if it is longer than ten lines."""
    first = last = i
    while first > 0 and not re.search(r"[;{}]$|^\s*//|^$", lines[first - 1]):
        first -= 1
    while last + 1 < len(lines) and (balance("".join(lines[first:last + 1])) > 0 or not re.search(r"[;}]$", lines[last])):
        last += 1
    if last - first > 9:
        return ""
    indent = min(len(line) - len(line.lstrip()) for line in lines[first:last + 1])
    return "\n".join(line[indent:] for line in lines[first:last + 1])


def expression_at(lines, i, name):
    """losses::Huber(0.5) of a list."""
    text = "\n".join(line.strip() for line in lines[i:i + 5])
    match = re.search(rf"[\w:]*\b{name}[({{]", text)
    end = match.end() if match else len(text)
    while end < len(text) and balance(text[match.start():end]) > 0:
        end += 1
    return text[match.start():end] if match else ""


def example_of(name, text):
    """How a program uses the name: a call, or the first statement that has it."""
    lines = text.split("\n")
    for pattern in (rf"\b{name}[({{]", rf"\b{name}\b"):
        for i, line in enumerate(lines):
            if re.match(r"\s*//|#|TEST|using|namespace|\}}", line) or not re.search(pattern, line.split("//")[0]):
                continue
            in_list = line.endswith((",", "};")) and pattern.endswith("[({]")
            if example := expression_at(lines, i, name) if in_list else statement_at(lines, i):
                return example
    return ""


def entries(page, header, examples, *excepted):
    """The Markdown of what a header declares, and what is wrong with it."""
    everything = list(declarations((PUBLIC / header).read_text()))
    options = {item.name: item for item in everything if item.kind == "options"}
    text = (ROOT / "docs/api" / examples).read_text()
    # The options of each entry: those that its calls take.
    calls_of = {item: signatures(item) for item in everything if item.kind in ("class", "function")}
    options_of = {item: [name for name in options if re.search(rf"\b{name}\b", " ".join(calls))]
                  for item, calls in calls_of.items()}
    used = {name for names_used in options_of.values() for name in names_used}
    out, problems, seen = [], [], {*excepted, *INTERNAL}
    for item in everything:
        if item.kind == "options" and item.name in used or item.name in seen:
            continue
        seen.add(item.name)
        out.append(f"\n## {item.name} {{#{page}_{item.namespace.split('::')[-1]}_{item.name}}}\n")
        if calls := calls_of.get(item):
            out.append("```cpp\n" + "\n".join(calls) + "\n```\n")
        if item.kind == "enum":
            out.append("```cpp\n" + item.code + "\n```\n")
        out.append(item.comment + "\n")
        if not item.comment and item.kind != "options":
            problems.append(f"include/pando/{header}: {item.name} has no comment")
        if item.kind == "class":
            out.append(f"All of it: \\ref {item.namespace}::{item.name}\n")
        for table in [item] if item.kind == "options" else [options[name] for name in options_of.get(item, [])]:
            out.append((table.comment + "\n\n" if table is not item and table.comment else "") + option_table(table) + "\n")
        if example := example_of(item.name, text):
            out.append("```cpp\n" + example + "\n```\n")
        else:
            problems.append(f"docs/api/{examples}: there is no example of {item.name} (include/pando/{header})")
    return "\n".join(out), problems


def listed(_, header, examples):
    """All declarations of a header as they are, for functions that need few words."""
    text = (ROOT / "docs/api" / examples).read_text()
    items = list(declarations((PUBLIC / header).read_text()))
    problems = [f"docs/api/{examples}: there is no example of {item.name} (include/pando/{header})"
                for item in items if not example_of(item.name, text)]
    lines = [(f"// {item.comment}\n" if item.comment else "") + item.code.replace("PANDO_API ", "") for item in items]
    return "```cpp\n" + "\n".join(lines) + "\n```\n", problems


def region(file, name):
    text = (ROOT / "docs/api" / file).read_text()
    parts = re.split(rf"^ *//! \[{re.escape(name)}\]\n", text, flags=re.MULTILINE)
    if len(parts) != 3:
        return "", [f"docs/api/{file}: there is no example '{name}'"]
    lines = parts[1].rstrip().split("\n")
    indent = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
    return "```cpp\n" + "\n".join(line[indent:] for line in lines) + "\n```\n", []


def names(source):
    found = re.findall(r'\{"(\w+)",\s+(?:\[|make_|ops::|losses::|[A-Z]\w*\})', (ROOT / source).read_text())
    return ", ".join(f"`\"{name}\"`" for name in dict.fromkeys(found)) + "\n", [] if found else [f"{source}: no names"]


def write_pages(folder):
    problems, covered = [], set()
    for path in sorted((ROOT / "docs/api").glob("*.md")):
        def complete(match):
            kind, words = match[1], match[2].split()
            if kind in ("entries", "declarations"):
                covered.add(words[0])
                text, wrong = (entries if kind == "entries" else listed)(path.stem, *words)
            else:
                text, wrong = region(*words) if kind == "example" else names(*words)
            problems.extend(wrong)
            return text
        page = re.sub(r"^<!-- (entries|declarations|example|names) (.*) -->$", complete, path.read_text(), flags=re.MULTILINE)
        (folder / path.name).write_text(page)
    headers = {str(path.relative_to(PUBLIC)) for path in (PUBLIC / "frontends").rglob("*.h")}
    problems += [f"docs/api: no page has entries of include/pando/{name}" for name in sorted(headers - covered)]
    return problems


def labelled(page, text):
    """Headings with names, without which Doxygen does not take them for sections; the page of file.md is file.html."""
    parts = re.split(r"(^```.*?^```)", text, flags=re.MULTILINE | re.DOTALL)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"^# ([^{}\n]+)$", lambda match: match[0] + " {#" + page + "_" +
                          re.sub(r"[^a-z0-9]+", "_", match[1].lower()) + "}", parts[i], flags=re.MULTILINE)
    parts[0] = re.sub(r"\A(# [^{}\n]*) \{.*\}", r"\1" if page == "index" else rf"\1 {{#{page}}}", parts[0])
    return "".join(parts)


def as_doxygens(line):
    """A comment becomes one of Doxygen's; what is in angle brackets there is not a tag of HTML."""
    code, mark, comment = line.partition("// ")
    if not mark or (code.strip() and not code.endswith(("  ", ",  ", ";  "))):
        return line
    comment = re.sub(r"<(?=[a-zA-Z/])", r"\\<", comment)
    return f"{code}///{'< ' if code.strip() else ' '}{comment}"


def filtered(path):
    """Comments of headers become Doxygen's, and links of pages to files outside of the reference become text."""
    text = path.read_text()
    if path.suffix == ".md":
        def link(match):
            target = path.parent / match[2].partition("#")[0]
            if target.suffix == ".md" and target.is_file():
                return f"[{match[1]}](@ref {target.stem.lower()})"
            return match[0] if re.match(r"[a-z]+:|#", match[2]) else match[1]
        text = re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", link, re.sub(r"!\[[^\]]*\]\([^)]*\)\n", "", text))
        return labelled(path.stem.lower(), text)
    text = re.sub(r"^( *) private:\n(?:.*\n)*?(?=\1\};)", "", text, flags=re.MULTILINE)
    text = re.sub(rf"^template <[^\n]*>\nstruct (?:{'|'.join(INTERNAL)})\b.*?\}};\n", "", text,
                  flags=re.MULTILINE | re.DOTALL)
    # Members of templates that are defined after their class.
    text = re.sub(r"^template [^;{}]*>::\w+\([^;{}]*\{\n.*?^\}\n", "", text, flags=re.MULTILINE | re.DOTALL)
    lines = [line for line in text.split("\n") if not re.search(r"SPDX-License-Identifier|^ *friend ", line)]
    return "/// \\file\n" + "\n".join(as_doxygens(line) for line in lines)


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.anchors, self.links = set(), []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in ("href", "src") and value and not re.match(r"[a-z]+:|//", value):
                self.links.append(value)


def check_links(folder):
    pages = {}
    for path in folder.rglob("*.html"):
        pages[path.resolve()] = Links()
        pages[path.resolve()].feed(path.read_text(errors="replace"))
    for path, page in sorted(pages.items()):
        for link in dict.fromkeys(page.links):
            name, _, anchor = urllib.parse.unquote(link).partition("#")
            target = (path.parent / name).resolve() if name else path
            if not target.exists():
                yield f"{path.name}: the link to {link} leads nowhere"
            elif anchor and target in pages and anchor not in pages[target].anchors:
                yield f"{path.name}: {target.name} has no #{anchor}"


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("--pages", "--filter", "--check"):
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    path = pathlib.Path(sys.argv[2])
    if sys.argv[1] == "--filter":
        sys.stdout.write(filtered(path))
        return 0
    problems = write_pages(path) if sys.argv[1] == "--pages" else list(check_links(path))
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
