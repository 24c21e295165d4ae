//! The steps of the Dockerfile, one after the other, without an engine: in a clean folder that holds what
//! .dockerignore lets through. Then the image's commands, as its user. `scripts/heavy` runs this; it builds
//! everything once more, for the portable CPU.
//!
//! What it cannot show: that the base images hold what the steps use, and the engine's own isolation.

#[path = "common/dockerfile.rs"]
mod dockerfile;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use dockerfile::{Dockerfile, Stage, context, root, words};
use serde_json::Value;
use tempfile::TempDir;

/// Libraries that `debian:bookworm-slim` and `distroless/cc` have.
const LIBRARIES: [&str; 5] =
    ["linux-vdso.so.1", "libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"];

/// An image as the steps leave it: a folder, and what its commands are run with.
struct Image {
    /// Everybody may enter it: the container's user is not the one who builds.
    folder: TempDir,
    environment: BTreeMap<String, String>,
    entry: Vec<String>,
    command: Vec<String>,
    health: Vec<String>,
    user: u32,
}

/// Runs the stage that builds, in `folder`.
fn build(stage: &Stage, folder: &Path) {
    let workdir = Path::new(stage.one("WORKDIR"));
    assert!(workdir.is_absolute());
    let mut variables = stage.environment();
    for name in
        stage.all("ARG").filter_map(|argument| argument.split_once('=')).map(|(name, _)| name)
    {
        if name == "ARBOR_COMMIT" {
            variables.insert(name.to_owned(), "0123456789ab".to_owned());
        }
    }
    for (name, rest) in &stage.instructions {
        match name.as_str() {
            "ARG" | "ENV" | "WORKDIR" => {}
            "COPY" => {
                assert_eq!(rest, ". .");
                for file in context() {
                    let to = folder.join(&file);
                    fs::create_dir_all(to.parent().expect("a parent")).expect("a folder");
                    fs::copy(root().join(&file), to).expect("a copy");
                }
            }
            "RUN" => {
                assert!(!rest.contains(" /"), "a path outside of the folder: {rest}");
                println!("RUN {rest}");
                let start = Instant::now();
                let mut shell = Command::new("sh");
                shell.args(["-c", rest]).current_dir(folder).env_clear().envs(&variables);
                for name in ["PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME"] {
                    if let Some(value) = std::env::var_os(name) {
                        shell.env(name, value);
                    }
                }
                let status = shell.stdin(Stdio::null()).status().expect("a shell");
                assert!(status.success(), "{rest}: {status}");
                println!("  {:.0} s", start.elapsed().as_secs_f64());
            }
            other => panic!("{other} {rest}: not known to this test"),
        }
    }
}

impl Image {
    /// What the last stage makes of a build in `built`, whose WORKDIR is `workdir`.
    fn assemble(stage: &Stage, built: &Path, workdir: &str) -> Self {
        let user = stage.one("USER").split_once(':').expect("a group").0.parse().expect("a number");
        let check = stage.one("HEALTHCHECK");
        let image = Self {
            folder: TempDir::new().expect("a folder"),
            environment: stage.environment(),
            entry: words(stage.one("ENTRYPOINT")),
            command: words(stage.one("CMD")),
            health: words(check.split_once("CMD ").expect("a command").1),
            user,
        };
        open_to_all(image.root());
        for copy in stage.all("COPY") {
            let parts: Vec<_> = copy.split_whitespace().collect();
            let (owner, from, to) = match parts.as_slice() {
                ["--from=build", from, to] => (None, from, to),
                ["--from=build", owner, from, to] => {
                    let owner = owner.strip_prefix("--chown=").expect("an owner");
                    assert_eq!(owner, format!("{user}:{user}"));
                    (Some(user), from, to)
                }
                other => panic!("COPY {other:?}"),
            };
            let from = from.strip_prefix(workdir).expect("a path below WORKDIR");
            let to = image.root().join(to.trim_start_matches('/'));
            copy_tree(&built.join(from.trim_start_matches('/')), &to, owner);
        }
        image
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    /// A command of the image, as its user where this test may change users, with nothing but the image's
    /// environment and no home. Paths of the image are put in the place of absolute ones.
    fn run(&self, command: &[String], variables: &[(&str, &str)]) -> Command {
        let place = |path: &str| self.root().join(path.trim_start_matches('/'));
        let mut process = Command::new(place(&format!("/usr/local/bin/{}", command[0])));
        for word in &command[1..] {
            match word.starts_with('/') {
                true => process.arg(place(word)),
                false => process.arg(word),
            };
        }
        process.env_clear().envs(&self.environment).env("HOME", "/nonexistent").current_dir("/");
        process.env("ARBOR_DATA__DIR", place(&self.environment["ARBOR_DATA__DIR"]));
        process.envs(variables.iter().copied()).stdin(Stdio::null());
        if is_root() {
            process.uid(self.user).gid(self.user);
        } else {
            println!("not root: the commands run as this user, not as {}", self.user);
        }
        process
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

fn open_to_all(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("permissions");
}

fn copy_tree(from: &Path, to: &Path, owner: Option<u32>) {
    fs::create_dir_all(to).expect("a folder");
    let metadata = fs::metadata(from).expect("what is copied");
    fs::set_permissions(to, metadata.permissions()).expect("permissions");
    if let (Some(owner), true) = (owner, is_root()) {
        chown(to, Some(owner), Some(owner)).expect("an owner");
    }
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy_tree(&from, &to, owner);
        } else {
            fs::copy(from, to).expect("a copy");
        }
    }
}

fn output(mut command: Command) -> (Output, String) {
    let output = command.output().expect("the command starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output, text)
}

fn ok(command: Command) -> String {
    let (output, text) = output(command);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// The paths that the loader finds for the binary.
fn libraries(binary: &Path) -> BTreeMap<String, Option<PathBuf>> {
    let mut ldd = Command::new("ldd");
    ldd.arg(binary);
    let line = |line: &str| {
        let (name, rest) = line.trim().split_once(' ')?;
        let name = Path::new(name).file_name()?.to_string_lossy().into_owned();
        let path = rest.strip_prefix("=> ").unwrap_or(line.trim());
        Some((
            name,
            path.split_whitespace().next().filter(|p| p.starts_with('/')).map(PathBuf::from),
        ))
    };
    ok(ldd).lines().filter_map(line).collect()
}

/// The binary alone with its libraries, in a root of its own.
fn runs_in_an_empty_root(image: &Image) {
    let binary = image.root().join("usr/local/bin/arbor");
    let found = libraries(&binary);
    let names: BTreeSet<_> = found.keys().map(String::as_str).collect();
    assert!(names.is_subset(&LIBRARIES.into()), "{names:?}");
    if !is_root() {
        println!("not root: nothing was run in an empty root");
        return;
    }
    let empty = TempDir::new().expect("a folder");
    open_to_all(empty.path());
    for path in found.values().flatten().chain([&binary]) {
        let inside = if path == &binary { Path::new("/arbor") } else { path };
        let to = empty.path().join(inside.strip_prefix("/").expect("an absolute path"));
        fs::create_dir_all(to.parent().expect("a parent")).expect("a folder");
        fs::copy(path, to).expect("a copy");
    }
    let mut chroot = Command::new("chroot");
    chroot.arg(format!("--userspec={0}:{0}", image.user)).arg(empty.path());
    chroot.args(["/arbor", "--version"]).env_clear();
    if let Some(path) = std::env::var_os("PATH") {
        chroot.env("PATH", path);
    }
    assert!(ok(chroot).starts_with("arbor 0."));
}

/// Built for x86-64-v2 and no other, as the commit says.
fn is_portable(image: &Image) {
    let version = ok(image.run(&["arbor".to_owned(), "--version".to_owned()], &[]));
    let features = version.lines().find_map(|line| line.strip_prefix("CPU features "));
    assert_eq!(features, Some("popcnt sse4.2"), "{version}");
    assert!(version.contains("commit 0123456789ab"), "{version}");
}

/// A server that is told to stop when its test fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The image's command serves, its health check agrees, a job is proved, and it stops when told to.
fn serves(image: &Image) {
    let command: Vec<_> = image.entry.iter().chain(&image.command).cloned().collect();
    let listen = ("ARBOR_SERVER__LISTEN", "127.0.0.1:0");
    let mut process = image.run(&command, &[listen]);
    process.arg("--json").stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = Running(process.spawn().expect("the server starts"));
    let stdout = server.0.stdout.take().expect("standard output");
    let mut values = serde_json::Deserializer::from_reader(stdout).into_iter::<Value>();
    let said = values.next().expect("a value").expect("JSON");
    let url = said["listening"].as_str().expect("an address").to_owned();

    let start = Instant::now();
    while !output(image.run(&image.health, &[("ARBOR_SERVER", &url)])).0.status.success() {
        assert!(start.elapsed() < Duration::from_secs(60), "never healthy");
        std::thread::sleep(Duration::from_millis(100));
    }
    let proof = image.root().join("data/x.arbor").display().to_string();
    let line = "arbor submit fibonacci -n 10 --layers 1 --out /data/x.arbor";
    let submit: Vec<_> = line.split(' ').map(str::to_owned).collect();
    ok(image.run(&submit, &[("ARBOR_SERVER", &url)]));
    // By the binary of this build, which is for another CPU.
    let mut verify = Command::new(env!("CARGO_BIN_EXE_arbor"));
    verify.args(["verify", &proof]);
    ok(verify);

    let mut stop = Command::new("kill");
    stop.args(["-TERM", &server.0.id().to_string()]);
    ok(stop);
    let start = Instant::now();
    while server.0.try_wait().expect("its state").is_none() {
        assert!(start.elapsed() < Duration::from_secs(60), "it does not stop");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(server.0.wait().expect("its state").success());
    let health = output(image.run(&image.health, &[("ARBOR_SERVER", &url)])).0;
    assert_eq!(health.status.code(), Some(1), "nobody is there");
    // Nothing was written but data.
    let top: BTreeSet<_> = fs::read_dir(image.root())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(top, ["data", "etc", "usr"].map(str::to_owned).into());
}

#[test]
fn every_step_of_the_dockerfile_works_and_the_image_serves() {
    let file = Dockerfile::read();
    let [first, last] = file.stages.as_slice() else { panic!("two stages") };
    assert_eq!(first.name.as_deref(), Some("build"));
    let built = TempDir::new().expect("a folder");
    build(first, built.path());
    let image = Image::assemble(last, built.path(), first.one("WORKDIR"));
    let bytes = fs::metadata(image.root().join("usr/local/bin/arbor")).expect("the binary").len();
    println!("the binary has {:.1} MB", bytes as f64 / 1e6);
    assert!(bytes < 60 << 20, "{bytes} bytes");
    is_portable(&image);
    runs_in_an_empty_root(&image);
    serves(&image);
}
