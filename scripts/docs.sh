#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Make the API reference and the guides as HTML, and check their links:
#
#   scripts/docs.sh [FOLDER]     build/docs unless given; open FOLDER/html/index.html
#
# Installs Doxygen if it is missing (as root or with sudo). The pages need no network, and have a search of their own.
# Exit status 1 if a link leads nowhere, something public has no comment, or something has no example.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-}" in
    -*) echo "usage: scripts/docs.sh [FOLDER]" >&2; exit 2 ;;
esac
scripts/install.sh doxygen python3

output=${1:-build/docs}
# The guides keep their places relative to each other, and so their links.
pages=$output/pages
rm -rf "$output/html" "$pages"
mkdir -p "$pages/docs/api"
cp ./*.md "$pages"
cp -r docs/*.md docs/examples "$pages/docs"
python3 tools/document_api.py --pages "$pages/docs/api"
version=$(sed -n 's/^#define PANDO_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' include/pando/version.h | paste -sd .)
{
    cat docs/api/Doxyfile
    echo "PROJECT_NUMBER = $version"
    echo "OUTPUT_DIRECTORY = $output"
    echo "INPUT = include $pages"
    echo "USE_MDFILE_AS_MAINPAGE = $pages/docs/api/index.md"
    echo "WARN_LOGFILE = $output/warnings.txt"
} | doxygen -
python3 tools/document_api.py --check "$output/html"
if [ -s "$output/warnings.txt" ]; then
    cat "$output/warnings.txt"
    exit 1
fi
echo "docs: $output/html/index.html"
