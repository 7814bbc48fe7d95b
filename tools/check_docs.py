#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the documents are true of the sources.

Usage: tools/check_docs.py [ROOT]

- A link in a Markdown file leads to a file, folder or heading that exists.
- docs/environment.md has every environment variable that a program or script reads, every option of CMake and every
  exit status of `pando`, and nothing else.
- Every line of C++ in docs/examples is a line of a program in examples/, which CI compiles.
- No page names a commit, and lines end at 130 characters, but for tables, code and targets of links. Two pages stay short.
Prints what is wrong; exit status 1 if something is.
"""
import pathlib
import re
import subprocess
import sys

# What programs, scripts and tests write to read a variable; systems' own variables that only scripts use are left out.
READS = {
    (".h", ".cpp"): re.compile(r'\b(?:getenv|environment)\("([A-Z][A-Z0-9_]*)"\)'),
    (".py",): re.compile(r'\benviron(?:\.get\(|\[)"([A-Z][A-Z0-9_]*)"'),
    (".sh",): re.compile(r"\$\{?((?:PANDO|XDG)_[A-Z0-9_]+|PANDO|JOBS|HOME|UPDATE_GOLDEN|SOURCE_DATE_EPOCH|"
                       r"DEBFULLNAME|DEBEMAIL)\b"),
}
IGNORED = {"PATH"}
MOST_CHARACTERS = 130
MOST_LINES = {"docs/performance.md": 120, "ARCHITECTURE.md": 130}
# Seven hexadecimal digits or more, with a letter and a digit among them.
COMMIT = re.compile(r"\b(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,}\b")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


def tracked(root):
    """The files of the project; in a folder without git, all."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    if listed.returncode == 0:
        return [root / name for name in listed.stdout.splitlines() if (root / name).is_file()]
    return sorted(path for path in root.rglob("*") if path.is_file())


def without_code(text):
    return re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(text):
    """The names that GitHub gives to headings."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in plain}


def check_links(root, files):
    for page in files:
        if page.suffix != ".md":
            continue
        for link in (first or second for first, second in LINK.findall(without_code(page.read_text()))):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if not target.exists():
                yield f"{page.relative_to(root)}: the link to {link} leads nowhere"
            elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text()):
                yield f"{page.relative_to(root)}: {path or 'the page'} has no heading #{anchor}"


def variables_read(files):
    """Variable -> the first file that reads it."""
    found = {}
    for path in files:
        for endings, pattern in READS.items():
            # Only real reads count, not those that tests of this check write.
            if path.suffix in endings and "tests/docs" not in str(path):
                for name in pattern.findall(path.read_text(errors="replace")):
                    found.setdefault(name, path)
    return {name: path for name, path in found.items() if name not in IGNORED}


def section(text, title):
    match = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return match[1] if match else ""


def compare(root, what, real, documented):
    """Both are sets; real may say where a name is."""
    for name in sorted(set(real) - documented):
        where = f" ({real[name].relative_to(root)})" if isinstance(real, dict) else ""
        yield f"docs/environment.md: the {what} {name}{where} is missing"
    for name in sorted(documented - set(real)):
        yield f"docs/environment.md: there is no {what} {name}"


def check_environment(root, files):
    page = root / "docs/environment.md"
    text = page.read_text() if page.exists() else ""
    names = set(re.findall(r"`([A-Z][A-Z0-9_]+)`", section(text, "Environment variables")))
    yield from compare(root, "variable", variables_read(files), names)

    options = [name for path in files if path.name == "CMakeLists.txt"
               for name in re.findall(r"^(?:option|set)\((PANDO_\w+) .*?(?:ON|OFF|\}|CACHE STRING \".*\")\)$",
                                      path.read_text(), re.MULTILINE)]
    documented = re.findall(r"^\| `(PANDO_\w+)` \|", section(text, "Build options"), re.MULTILINE)
    yield from compare(root, "build option", set(options), set(documented))

    commands = root / "cli/every_command.cpp"
    table = re.search(r"exit_statuses\(\) \{(.*?)^\}", commands.read_text() if commands.exists() else "",
                      re.MULTILINE | re.DOTALL)
    statuses = re.findall(r'\{"(\d+)", "(.*?)"\}', table[1] if table else "")
    rows = re.findall(r"^\| (\d+) \| (.*?) \|$", section(text, "Exit codes"), re.MULTILINE)
    yield from compare(root, "exit status", {": ".join(status) for status in statuses},
                       {f"{code}: {meaning.replace('`', '')}" for code, meaning in rows})


def check_examples(root, files):
    programs = "".join(path.read_text() for path in files
                       if path.suffix in (".h", ".cpp") and path.is_relative_to(root / "examples"))
    programs = re.sub(r"\s+", "", programs)
    for page in files:
        if page.suffix != ".md" or page.parent != root / "docs/examples":
            continue
        for block in re.findall(r"^```cpp\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
            for line in block.splitlines():
                if re.sub(r"\s+", "", line) not in programs:
                    yield f"{page.relative_to(root)}: examples/ has no line '{line.strip()}'"


def check_form(root, files):
    """Of the pages at the root and in docs/."""
    for page in files:
        name = page.relative_to(root).as_posix()
        if page.suffix != ".md" or ("/" in name and not name.startswith("docs/")):
            continue
        text = page.read_text()
        lines = text.splitlines()
        for number, line in enumerate(lines, 1):
            for word in COMMIT.findall(line):
                yield f"{name}:{number}: '{word}' looks like a commit; say what it brought, and leave the rest to git log"
        prose = re.sub(r"^ *```.*?^ *```", lambda code: "\n" * code[0].count("\n"), text, flags=re.MULTILINE | re.DOTALL)
        for number, line in enumerate(prose.splitlines(), 1):
            length = len(re.sub(r"\]\([^)]*\)", "]", line))
            if length > MOST_CHARACTERS and not line.lstrip().startswith(("|", "<!--")):
                yield f"{name}:{number}: {length} characters; break the line at {MOST_CHARACTERS} or before"
        if len(lines) > MOST_LINES.get(name, len(lines)):
            yield f"{name}: {len(lines)} lines; it may have {MOST_LINES[name]}, so move details to where they belong"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    files = tracked(root)
    problems = [*check_links(root, files), *check_environment(root, files), *check_examples(root, files),
                *check_form(root, files)]
    print("\n".join(problems) if problems else "documents: links, tables and examples are true of the sources")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
