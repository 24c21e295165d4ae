//! Dockerfile, .dockerignore and compose.yaml, as far as they can be checked without building anything.
//! `scripts/heavy` runs the steps themselves.

#[path = "common/dockerfile.rs"]
mod dockerfile;

use std::path::Path;

use dockerfile::{Dockerfile, context, read, root, words};

/// The user that the container runs as.
const USER: &str = "10001:10001";

#[test]
fn the_image_runs_the_binary_as_a_fixed_user_that_is_not_root() {
    let file = Dockerfile::read();
    let image = file.last();
    assert_eq!(image.one("USER"), USER);
    let owned = format!("--from=build --chown={USER} /build/data /data");
    assert!(image.all("COPY").any(|copy| copy == owned), "the data folder belongs to {USER}");
    assert_eq!(words(image.one("VOLUME")), ["/data"]);
    assert_eq!(image.environment()["ARBOR_DATA__DIR"], "/data");
    assert_eq!(words(image.one("ENTRYPOINT")), ["arbor"]);
    assert_eq!(words(image.one("CMD"))[0], "serve");
    // Nothing is installed or run in the image that is shipped.
    assert_eq!(image.all("RUN").count(), 0);
}

#[test]
fn the_health_check_is_a_command_of_this_binary() {
    let file = Dockerfile::read();
    let check = file.last().one("HEALTHCHECK");
    let (options, command) = check.split_once("CMD ").expect("a command");
    assert_eq!(words(command), ["arbor", "health"]);
    for option in ["--interval=", "--timeout=", "--start-period=", "--retries="] {
        assert!(options.contains(option), "{option}");
    }
    assert_eq!(file.last().one("STOPSIGNAL"), "SIGTERM");
}

#[test]
fn the_container_listens_where_it_says_and_health_asks_there() {
    let file = Dockerfile::read();
    let environment = file.last().environment();
    let port = file.last().one("EXPOSE");
    assert_eq!(environment["ARBOR_SERVER__LISTEN"], format!("0.0.0.0:{port}"));
    assert_eq!(environment["ARBOR_SERVER__ALLOW_REMOTE"], "true");
    assert!(arbor_service::client::DEFAULT_SERVER.ends_with(&format!(":{port}")));
    assert!(!environment.contains_key("ARBOR_SERVER"));
}

#[test]
fn the_builder_has_the_toolchain_of_the_workspace_and_a_portable_cpu() {
    let file = Dockerfile::read();
    let toolchain: toml::Value = toml::from_str(&read("rust-toolchain.toml")).expect("TOML");
    let channel = toolchain["toolchain"]["channel"].as_str().expect("a channel");
    let build = &file.stages[0];
    let environment = build.environment();
    assert_eq!(environment["RUSTUP_TOOLCHAIN"], channel);
    let tag = build.image.split_once(':').expect("a tag").1;
    let version = tag.split('-').next().expect("a version");
    assert!(channel.starts_with(&format!("{version}.")), "{channel} is not of {}", build.image);
    // Both stages have the same C library.
    let release = tag.rsplit('-').next().expect("a release");
    assert!(file.last().image.contains(release), "{} and {}", build.image, file.last().image);
    assert_eq!(environment["RUSTFLAGS"], "-Ctarget-cpu=x86-64-v2 -Copt-level=3");
}

#[test]
fn what_the_image_is_given_by_the_configuration_exists() {
    let file = Dockerfile::read();
    let shipped: Vec<_> =
        file.stages[0].all("RUN").filter(|run| run.starts_with("install -D")).collect();
    let command = words(file.last().one("CMD"));
    let config = command.last().expect("the configuration");
    assert!(shipped.iter().any(|run| run.ends_with(&format!("image{config}"))), "{config}");
    for run in shipped.iter().filter(|run| !run.contains("target/")) {
        for word in run.split_whitespace().filter(|word| root().join(word).is_file()) {
            assert!(context().contains(&Path::new(word).to_owned()), "{word} is ignored");
        }
    }
    assert!(root().join("configs/service.toml").is_file());
}

#[test]
fn the_context_is_small_and_has_no_secrets_and_no_results() {
    let files = context();
    let has = |name: &str| files.contains(&Path::new(name).to_owned());
    for name in ["Cargo.toml", "Cargo.lock", "service/src/main.rs", "configs/presets/default.toml"]
    {
        assert!(has(name), "{name}");
    }
    for name in ["README.md", "Dockerfile", "prover/tests/golden/fibonacci.arbor"] {
        assert!(!has(name), "{name}");
    }
    for file in &files {
        let text = file.display().to_string();
        assert!(!text.contains("target/") && !text.contains(".git/"), "{text}");
    }
    let bytes: u64 =
        files.iter().filter_map(|file| root().join(file).metadata().ok()).map(|m| m.len()).sum();
    assert!(bytes < 8 << 20, "{bytes} bytes");
}

/// The value of `key` in compose.yaml, whose lines are plain.
fn composed(key: &str) -> String {
    let text = read("compose.yaml");
    let line = text.lines().find_map(|line| line.trim().strip_prefix(&format!("{key}: ")));
    line.unwrap_or_else(|| panic!("compose.yaml has no {key}")).to_owned()
}

#[test]
fn compose_closes_what_the_service_does_not_need() {
    let text = read("compose.yaml");
    assert_eq!(composed("read_only"), "true");
    for line in ["- ALL", "- no-new-privileges:true", "- data:/data"] {
        assert!(text.lines().any(|found| found.trim() == line), "{line}");
    }
    assert!(
        text.contains("\"127.0.0.1:${ARBOR_PORT:-8080}:8080\""),
        "the port stays on this machine"
    );
    assert_eq!(composed("mem_limit"), composed("memswap_limit"));
    // The default of the Dockerfile.
    let cpu = composed("ARBOR_CPU");
    let default = &Dockerfile::read().stages[0].environment()["ARBOR_CPU"];
    assert_eq!(cpu, format!("${{ARBOR_CPU:-{default}}}"));
}

#[test]
fn the_engine_waits_longer_than_the_service_takes_to_stop() {
    let grace: u64 = composed("stop_grace_period").trim_end_matches('s').parse().expect("seconds");
    let config: toml::Value = toml::from_str(&read("configs/service.toml")).expect("TOML");
    let own = config["server"]["shutdown_grace_s"].as_integer().expect("seconds") as u64;
    assert_eq!(own, arbor_service::config::Config::default().server.shutdown_grace_s);
    assert!(grace >= own + 15, "compose waits {grace} s, the service may take {own} s");
}
