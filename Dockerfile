# docker build -t heddle . && docker run --rm -v "$PWD:/data" heddle train --task numbers --out demo
# docker run --rm -i -v "$PWD:/data" heddle translate demo < numbers.txt
FROM debian:bookworm-slim AS build
WORKDIR /heddle
COPY . .
RUN bash apps/setup.sh && cmake --preset release -DHEDDLE_TESTS=OFF && cmake --build --preset release --target heddle heddle-lab && \
    strip build/release/heddle build/release/heddle-lab

FROM debian:bookworm-slim
RUN apt-get update && \
    apt-get install -y --no-install-recommends libfmt9 libsentencepiece0 libmicrohttpd12 zlib1g ca-certificates curl unzip && \
    rm -rf /var/lib/apt/lists/*
COPY --from=build /heddle/build/release/heddle /heddle/build/release/heddle-lab /usr/local/bin/
WORKDIR /data
ENTRYPOINT ["heddle"]
CMD ["--help"]
