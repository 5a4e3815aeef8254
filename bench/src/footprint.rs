//! `corbie-bench footprint`, paper POA §2.5.3 and Table 2: what the smallest server and client take
//! of a disk and of memory, with the whole ORB and with minimum CORBA.
//!
//! Builds the programs of `bench/footprint` in the cargo profile `footprint`, static and stripped,
//! looks at their size and at what a running server holds. Called by `main.rs`.

mod by_crate;

use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The target whose C library can be linked statically as it is meant to be, and how it is linked:
/// identical functions once, relocations in their short form. Programs stay position-independent.
const TARGET: &str = "x86_64-unknown-linux-musl";
const FLAGS: &str = "-C linker=rust-lld -C link-arg=--icf=all -C link-arg=--pack-dyn-relocs=relr";
/// Connections, and objects, whose memory is divided by their number.
const CONNECTIONS: usize = 1_000;
const OBJECTS: usize = 100_000;
/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_secs(60);
/// Paper POA, Table 2: octets of TAO's libraries.
const TAO: [u64; 2] = [861_985, 639_456];

/// What was built.
#[derive(Clone, Copy)]
struct Build {
    name: &'static str,
    arguments: &'static [&'static str],
}

const BUILDS: [Build; 2] = [
    Build { name: "full", arguments: &[] },
    Build { name: "minimum", arguments: &["--no-default-features"] },
];

/// Builds, measures, and writes `footprint.json` to `out`; the tables as Markdown.
///
/// # Errors
/// When a program cannot be built or does not start.
pub(crate) fn footprint(out: &Path) -> io::Result<String> {
    let mut page = String::from("# footprint (POA Table 2)\n\n");
    let mut rows = Vec::new();
    let mut crates = String::new();
    for build in BUILDS {
        let server = built(build, "footprint-server", out)?;
        let client = built(build, "footprint-client", out)?;
        let (stripped, sizes) = (stripped(&server)?, by_crate::sizes(&server)?);
        let _ = writeln!(crates, "\nWhere the octets of the {} server go:\n\n{sizes}", build.name);
        rows.push(json!({
            "build": build.name,
            "server_octets": fs::metadata(&stripped)?.len(),
            "client_octets": fs::metadata(self::stripped(&client)?)?.len(),
            "idle_kib": idle(&stripped)?,
            "octets_per_object": per_object(&stripped)?,
            "octets_per_connection": per_connection(&stripped, REACTOR)?,
            "octets_per_connection_with_thread": per_connection(&stripped, &[])?,
        }));
    }
    table(&mut page, &rows);
    page.push_str(&crates);
    fs::write(out.join("footprint.json"), serde_json::to_string_pretty(&rows)?)?;
    Ok(page)
}

fn table(page: &mut String, rows: &[Value]) {
    let of = |key: &str| rows.iter().map(|row| row[key].as_u64().unwrap_or(0)).collect::<Vec<_>>();
    let _ = writeln!(page, "| | full | minimum | less |\n|---|---:|---:|---:|");
    let mut line = |name: &str, values: &[u64]| {
        let [full, minimum] = values else { return };
        let less = 100.0 - 100.0 * *minimum as f64 / (*full).max(1) as f64;
        let _ = writeln!(page, "| {name} | {full} | {minimum} | {less:.1} % |");
    };
    line("server, octets, static and stripped", &of("server_octets"));
    line("client, octets, static and stripped", &of("client_octets"));
    line("paper: TAO's libraries, octets", &TAO);
    line("idle server, KiB resident", &of("idle_kib"));
    line("an active object, octets", &of("octets_per_object"));
    line("an idle connection (reactor), octets", &of("octets_per_connection"));
    line("an idle connection (a thread each), octets", &of("octets_per_connection_with_thread"));
    page.push_str(
        "\nOctets of memory are of resident pages of the process, with its C library; what the \
         kernel holds for a connection is not in them.\n",
    );
}

/// The program, with its symbols.
fn built(build: Build, program: &str, out: &Path) -> io::Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--package", "corbie-footprint", "--bin", program]);
    cargo.args(["--profile", "footprint", "--target", TARGET]).args(build.arguments);
    cargo.env("RUSTFLAGS", FLAGS).env("CARGO_PROFILE_FOOTPRINT_STRIP", "false");
    if !cargo.status()?.success() {
        let text = format!("{program} was not built; is `rustup target add {TARGET}` done?");
        return Err(io::Error::other(text));
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    let kept = out.join(format!("{program}-{}", build.name));
    fs::copy(target.join(TARGET).join("footprint").join(program), &kept)?;
    Ok(kept)
}

fn stripped(program: &Path) -> io::Result<PathBuf> {
    let stripped = program.with_extension("stripped");
    let done = Command::new("strip").arg(program).arg("-o").arg(&stripped).status()?;
    done.success().then_some(stripped).ok_or_else(|| io::Error::other("`strip` failed"))
}

/// A server, until dropped.
struct Running {
    process: Child,
    address: SocketAddr,
}

const REACTOR: &[&str] =
    &["-ORBServerConcurrency", "reactor-per-thread", "-ORBReactorThreads", "1"];

impl Running {
    fn start(program: &Path, objects: usize, more: &[&str]) -> io::Result<Self> {
        let mut process = Command::new(program)
            .arg(objects.to_string())
            .args(["-ORBListenEndpoints", "iiop://127.0.0.1:0", "-ORBServerConnectionsMax", "5000"])
            .args(more)
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        if let Some(output) = process.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        let address = address_in(&line).ok_or_else(|| io::Error::other("no reference came"));
        Ok(Running { process, address: address? })
    }

    /// Kibibytes of resident memory.
    fn resident_kib(&self) -> io::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok());
        number.ok_or_else(|| io::Error::other("the process has no VmRSS"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The address in a stringified reference.
fn address_in(reference: &str) -> Option<SocketAddr> {
    let ior: corbie::Ior = reference.trim().parse().ok()?;
    let profile = ior.profiles.iter().find(|profile| profile.tag == 0)?;
    let profile = corbie::types::IiopProfile::decode(&profile.data).ok()?;
    Some((profile.host.parse::<std::net::IpAddr>().ok()?, profile.port).into())
}

fn idle(program: &Path) -> io::Result<u64> {
    Running::start(program, 1, REACTOR)?.resident_kib()
}

fn per_object(program: &Path) -> io::Result<u64> {
    let few = Running::start(program, 1, REACTOR)?.resident_kib()?;
    let many = Running::start(program, 1 + OBJECTS, REACTOR)?.resident_kib()?;
    Ok(many.saturating_sub(few) * 1024 / OBJECTS as u64)
}

/// Of a connection over which one message went each way.
fn per_connection(program: &Path, more: &[&str]) -> io::Result<u64> {
    let server = Running::start(program, 1, more)?;
    let open = || -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect(server.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        // LocateRequest 1 for an empty key; the LocateReply has 20 octets.
        stream.write_all(b"GIOP\x01\x02\x01\x03\x0c\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0")?;
        stream.read_exact(&mut [0; 20])?;
        Ok(stream)
    };
    let first = open()?;
    let before = server.resident_kib()?;
    let all = (0..CONNECTIONS).map(|_| open()).collect::<io::Result<Vec<_>>>()?;
    let after = settled(&server)?;
    drop((first, all));
    Ok(after.saturating_sub(before) * 1024 / CONNECTIONS as u64)
}

/// The memory of the server when it does not change any more.
fn settled(server: &Running) -> io::Result<u64> {
    let end = Instant::now() + PATIENCE;
    let mut last = server.resident_kib()?;
    loop {
        std::thread::sleep(Duration::from_millis(200));
        let now = server.resident_kib()?;
        if now == last || Instant::now() > end {
            return Ok(now);
        }
        last = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_says_how_much_less_the_minimum_takes() {
        let row = |octets: u64| json!({ "server_octets": octets, "idle_kib": 1 });
        let mut page = String::new();
        table(&mut page, &[row(1_000), row(750)]);
        assert!(page.contains("| server, octets, static and stripped | 1000 | 750 | 25.0 % |"));
        assert!(page.contains("| paper: TAO's libraries, octets | 861985 | 639456 | 25.8 % |"));
    }
}
