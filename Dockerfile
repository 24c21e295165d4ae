# Arbor in a container: built in one stage, run from another that holds the binary and its configuration.
#
#   docker build -t arbor .
#   docker build -t arbor --build-arg ARBOR_CPU=x86-64-v3 .      # with Plonky3's vector code: needs AVX2
#
# scripts/heavy runs these same steps without an engine. Keep them plain: every path that a step of the
# build writes to is below its WORKDIR.
ARG RUST_IMAGE=rust:1.95-slim-bookworm
ARG RUNTIME_IMAGE=debian:bookworm-slim

FROM ${RUST_IMAGE} AS build
# The CPU that the binary is built for, as in `rustc --print target-cpus`. The default runs on every x86-64
# of the last fifteen years; on another architecture name one of its own (`generic` is portable there).
# RUSTFLAGS goes before .cargo/config.toml, which would build for the machine at hand.
ARG ARBOR_CPU=x86-64-v2
# Shown by `arbor --version`; there is no .git here to ask.
ARG ARBOR_COMMIT=unknown
ENV RUSTFLAGS="-Ctarget-cpu=${ARBOR_CPU} -Copt-level=3" \
    ARBOR_COMMIT=${ARBOR_COMMIT} \
    RUSTUP_TOOLCHAIN=1.95.0 \
    CARGO_PROFILE_RELEASE_DEBUG=none \
    CARGO_PROFILE_RELEASE_STRIP=symbols
WORKDIR /build
COPY . .
RUN cargo build --release --locked --package arbor-service --bin arbor
RUN install -D -m 0755 target/release/arbor image/usr/local/bin/arbor
RUN install -D -m 0644 configs/service.toml image/etc/arbor/service.toml
RUN install -D -m 0644 -t image/usr/share/doc/arbor LICENSE-APACHE LICENSE-MIT
# What webhooks trust; the image to run has none.
RUN install -D -m 0644 "/etc/ssl/certs/ca-certificates.crt" image/etc/ssl/certs/ca-certificates.crt
RUN install -d -m 0750 data

FROM ${RUNTIME_IMAGE}
COPY --from=build /build/image /
COPY --from=build --chown=10001:10001 /build/data /data
# A number, so that `runAsNonRoot` can be checked. Nothing but /data is written to.
USER 10001:10001
ENV ARBOR_DATA__DIR=/data \
    ARBOR_SERVER__LISTEN=0.0.0.0:8080 \
    ARBOR_SERVER__ALLOW_REMOTE=true
VOLUME ["/data"]
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 CMD ["arbor", "health"]
ENTRYPOINT ["arbor"]
CMD ["serve", "--config", "/etc/arbor/service.toml"]
