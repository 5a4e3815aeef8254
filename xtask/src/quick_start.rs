//! `cargo xtask quick-start`: the first command of the README, and the command that it prints.
//! Runs the example `stock_quoter` to its end, then again with `--serve`, and calls the server that
//! stays with exactly the `corbie call` line that the example showed.

use std::io::{BufRead as _, BufReader};
use std::path::Path;

use crate::process::Program;

const EXAMPLE: &str = "cargo run --quiet --release --example stock_quoter";
/// What the first command must show: a quote, the user exception, the reference.
const SHOWN: [&str; 3] =
    ["get_quote(\"IBM\") = 132.45", "raised Invalid_Stock_Symbol: ACME", "IOR:"];
const PRICE: &str = "13245";

/// Does what the README says.
///
/// # Errors
/// What was not printed, or which command failed.
pub(crate) fn run(root: &Path, _: &[String]) -> Result<String, String> {
    let mut output = String::new();
    Program::new(root, EXAMPLE).run_seeing(|line| output.push_str(&format!("{line}\n")))?;
    if let Some(missing) = SHOWN.iter().find(|text| !output.contains(**text)) {
        return Err(format!("`{EXAMPLE}` did not print `{missing}`"));
    }
    let mut server = Program::new(root, &format!("{EXAMPLE} -- --serve")).start()?;
    let result = match server.stdout.take() {
        Some(stdout) => call(root, BufReader::new(stdout).lines().map_while(Result::ok)),
        None => Err("the example has no standard output".to_string()),
    };
    // The example's own server ends with it.
    let _ = server.kill();
    let _ = server.wait();
    result.map(|()| "the example and the command that it prints".to_string())
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
