//! `cargo xtask quick-start`: the first command of the README, and the command that it prints.
//! Runs the example `stock_quoter` to its end, then again with `--serve`, and calls the server that
//! stays with exactly the `corbie call` line that the example showed. Then the example
//! `middle_tier`, both ways, and the examples `naming` and `transport`.

use std::io::{BufRead as _, BufReader};
use std::path::Path;

use crate::process::Program;

const EXAMPLE: &str = "cargo run --quiet --release --example stock_quoter";
/// What the first command must show: a quote, the user exception, the reference.
const SHOWN: [&str; 3] =
    ["get_quote(\"IBM\") = 132.45", "raised Invalid_Stock_Symbol: ACME", "IOR:"];
const PRICE: &str = "13245";
const NAMING: &str = "cargo run --quiet --release --example naming";
/// What is found by its name, what is not, and the tree.
const NAMED: [&str; 3] = [
    "stock/exchange/IBM.quoter: 13245 cents",
    "as it should be: `stock/exchange/ACME.quoter` is not bound",
    "      IBM.quoter",
];
const TRANSPORT: &str = "cargo run --quiet --release --example transport";
/// The same object over a transport of the application and over TCP.
const CARRIED: [&str; 2] =
    ["a client with the transport: IBM costs 13245", "a client without it: IBM costs 13245"];
const PROTOCOL: &str = "cargo run --quiet --release --example protocol";
/// The same object in a message protocol of the application, over two transports, and in GIOP.
const SPOKEN: [&str; 3] = [
    "a client with the protocol, over a unix-domain socket: IBM costs 13245",
    "a client with the protocol, over TCP: IBM costs 13245",
    "a client without the protocol: IBM costs 13245",
];
const MIDDLE_TIER: &str =
    "cargo run --quiet --release --example middle_tier -- --clients 20 --calls 10 --delay 10";
/// What 200 calls through three tiers must come to, by callbacks and as `async fn`.
const QUOTES: &str = "180 quotes, 20 times Invalid_Stock_Symbol";

/// Does what the README says.
///
/// # Errors
/// What was not printed, or which command failed.
pub(crate) fn run(root: &Path, _: &[String]) -> Result<String, String> {
    must_print(root, EXAMPLE, &SHOWN)?;
    let mut server = Program::new(root, &format!("{EXAMPLE} -- --serve")).start()?;
    let result = match server.stdout.take() {
        Some(stdout) => call(root, BufReader::new(stdout).lines().map_while(Result::ok)),
        None => Err("the example has no standard output".to_string()),
    };
    // The example's own server ends with it.
    let _ = server.kill();
    let _ = server.wait();
    result?;
    must_print(root, MIDDLE_TIER, &[QUOTES])?;
    must_print(root, &format!("{MIDDLE_TIER} --async"), &[QUOTES])?;
    must_print(root, NAMING, &NAMED)?;
    must_print(root, TRANSPORT, &CARRIED)?;
    must_print(root, PROTOCOL, &SPOKEN)?;
    Ok("the example, the command that it prints, three tiers in two ways, names, a transport"
        .to_string())
}

/// Runs an example to its end, and looks for what it has to show.
fn must_print(root: &Path, command: &str, texts: &[&str]) -> Result<(), String> {
    let mut output = String::new();
    Program::new(root, command).run_seeing(|line| output.push_str(&format!("{line}\n")))?;
    match texts.iter().find(|text| !output.contains(**text)) {
        Some(missing) => Err(format!("`{command}` did not print `{missing}`")),
        None => Ok(()),
    }
}

/// Runs the command among `lines`, which is broken by backslashes.
fn call(root: &Path, lines: impl Iterator<Item = String>) -> Result<(), String> {
    let command = printed_command(lines).ok_or("the example printed no `corbie call` command")?;
    println!("$ {command}");
    let program = Program::new(root, "bash -c").arguments(&[command]);
    let (output, succeeded) = program.capture()?;
    println!("{output}");
    let answered = output.lines().any(|line| line.trim() == PRICE);
    if succeeded && answered {
        Ok(())
    } else {
        Err(format!("the printed command did not print {PRICE}"))
    }
}

fn printed_command(lines: impl Iterator<Item = String>) -> Option<String> {
    let mut lines = lines.skip_while(|line| !line.trim_start().starts_with("cargo run"));
    let mut command = lines.next()?.trim().to_string();
    while let Some(begun) = command.strip_suffix('\\') {
        command = format!("{begun}{}", lines.next()?.trim());
    }
    Some(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_command_is_joined() {
        let lines = ["text", "  cargo run -- call x \\", "    --idl y '\"IBM\"'", "more"];
        let command = printed_command(lines.iter().map(ToString::to_string));
        assert_eq!(command.as_deref(), Some("cargo run -- call x --idl y '\"IBM\"'"));
        assert_eq!(printed_command(std::iter::once("nothing".to_string())), None);
    }
}
