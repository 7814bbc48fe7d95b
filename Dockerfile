# SPDX-License-Identifier: Apache-2.0
# The command `pando` in a small image:
#
#   docker build -t pando .
#   docker run --rm -it -v "$PWD:/work" pando train keras-cnn
FROM debian:13-slim AS build
RUN apt-get -qq update && apt-get -qq install -y --no-install-recommends \
    g++ cmake ninja-build dpkg-dev libfmt-dev zlib1g-dev libjpeg62-turbo-dev libcurl4-openssl-dev libcairo2-dev \
    ca-certificates
COPY . /pando
RUN DEBFULLNAME=Dockerfile DEBEMAIL=docker@example.org /pando/scripts/package.sh

FROM debian:13-slim
COPY --from=build /pando/build/packages/pando_*.deb /tmp/
RUN apt-get -qq update && apt-get -qq install -y --no-install-recommends ca-certificates /tmp/pando_*.deb && \
    rm -rf /tmp/pando_*.deb /var/lib/apt/lists/*
# What it writes goes to the folder that is mounted there.
WORKDIR /work
ENTRYPOINT ["pando"]
CMD ["--help"]
